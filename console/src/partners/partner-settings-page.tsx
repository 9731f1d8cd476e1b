import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { Select } from '../components/fields';
import { Form, FormField, useForm } from '../components/form';
import { Page } from '../components/page';
import { Shown } from '../components/states';
import { toast } from '../components/toast';
import { CHANGE_REASON_OPTIONS, RECORD_CHANGE_OPTIONS, retryCauseText } from '../notification/words';
import { AUTH_OPTIONS, AuthFields, authOf, emptyAuth, type AuthType } from './auth-fields';
import { subscriptionQuery } from './partner-queries';
import { signInText } from './sign-in-text';

type Subscription = Schemas['SubscriptionModel'];
type Patch = Schemas['SubscriptionPatch'];

export function PartnerSettingsPage() {
  const { id } = useParams({ from: '/partners/$id/settings' });
  const subscription = useQuery(subscriptionQuery(id));
  return (
    <Page
      title="Settings of a partner"
      trail={
        <>
          <Link to="/partners">Partners</Link>
          <Link to="/partners/$id" params={{ id }}>
            <bdi>{subscription.data?.name ?? subscription.data?.partner_url ?? id}</bdi>
          </Link>
        </>
      }
      lead="A new address must be verified before notifications are sent to it. Until then, the service keeps the notifications. If the new address has a different host, enter the credentials again."
    >
      <Shown query={subscription}>{(found) => <Settings subscription={found} />}</Shown>
    </Page>
  );
}

function Settings({ subscription }: { subscription: Subscription }) {
  const [auth, setAuth] = useState<AuthType | ''>('');
  return (
    <>
      <div className="form">
        <Select
          label="Authentication at the partner"
          value={auth}
          onChange={(value) => setAuth(value as AuthType | '')}
          options={[['', `Keep: ${signInText(subscription.auth)}`], ...AUTH_OPTIONS]}
        />
      </div>
      <SettingsForm key={auth} subscription={subscription} auth={auth} />
    </>
  );
}

const DELIVERY_OPTIONS = [
  ['PUSH', 'Push to the address'],
  ['POLL', 'The partner polls'],
] as const;

function SettingsForm({ subscription, auth }: { subscription: Subscription; auth: AuthType | '' }) {
  const { id } = subscription;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { next } = useSearch({ from: '/partners/$id/settings' });
  const known = {
    name: subscription.name ?? '',
    delivery: subscription.delivery as string,
    partner_url: subscription.partner_url ?? '',
    change_reasons: [...subscription.change_reasons] as string[],
    record_changes: [...subscription.record_changes] as string[],
    ca_pem: subscription.ca_pem ?? '',
    client_cert_pem: subscription.client_cert_pem ?? '',
    client_key_pem: '',
    wait_ms: subscription.wait_ms == null ? '' : String(subscription.wait_ms),
    auto_retry_on: [...subscription.auto_retry_on] as string[],
    max_per_second: subscription.max_per_second == null ? '' : String(subscription.max_per_second),
  };
  const form = useForm({
    schema: 'SubscriptionPatch',
    initial: { ...known, ...(auth === '' ? {} : emptyAuth(auth)) },
    perform: async ({ auth: given, ...body }: Patch) => {
      const changes = changed(subscription, body);
      const signIn = auth === '' ? {} : { auth: authOf(auth, given) };
      await dataOf(
        api.PATCH('/admin/subscriptions/{id}', { params: { path: { id } }, body: { ...changes, ...signIn } }),
      );
      toast('The settings were changed.');
      await queries.invalidateQueries({ queryKey: ['subscriptions', id] });
      void queries.invalidateQueries({ queryKey: ['partners'] });
      if (next === 'connect-partner') await navigate({ to: '/setup/connect-partner', search: { subscription: id } });
      else await navigate({ to: '/partners/$id', params: { id } });
    },
  });
  return (
    <Form form={form} action="Save">
      {auth !== '' && <AuthFields form={form} type={auth} />}
      <FormField form={form} name="name" label="Name" />
      <FormField form={form} name="delivery" label="Delivery" options={DELIVERY_OPTIONS} />
      <FormField form={form} name="partner_url" label="Address" />
      <FormField form={form} name="change_reasons" label="Events" options={CHANGE_REASON_OPTIONS} />
      <FormField form={form} name="record_changes" label="Changes of records" options={RECORD_CHANGE_OPTIONS} />
      <FormField form={form} name="wait_ms" label="Answer timeout in milliseconds" />
      <FormField
        form={form}
        name="auto_retry_on"
        label="Failures retried automatically"
        options={form.rule('auto_retry_on').items?.enum?.map((cause) => [cause!, retryCauseText(cause!)])}
      />
      <FormField form={form} name="max_per_second" label="Maximum requests per second" />
      <FormField form={form} name="ca_pem" label="Certificate authority, PEM" rows={4} />
      <FormField form={form} name="client_cert_pem" label="Client certificate, PEM" rows={4} />
      <FormField form={form} name="client_key_pem" label="Client key, PEM" rows={4} />
    </Form>
  );
}

/** Returns the members of the form whose values differ from the stored settings of the partner. */
function changed(subscription: Subscription, body: Patch): Patch {
  const before = subscription as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name] ?? null)),
  );
}
