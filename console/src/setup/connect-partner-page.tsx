import './setup.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { AccountField } from '../components/account-fields';
import { AccountNameInline } from '../components/account-name';
import { api, dataOf, type Schemas } from '../api/client';
import { Button, LinkButton } from '../components/button';
import { Copyable, CopyButton } from '../components/copy';
import { Select } from '../components/fields';
import { Form, FormField, useForm } from '../components/form';
import { Facts, Page, Section } from '../components/page';
import { LostSecret, SecretOnce, type NewSecret } from '../components/secret-once';
import { ProblemNote, Shown } from '../components/states';
import { CHANGE_REASON_OPTIONS, RECORD_CHANGE_OPTIONS, eventText } from '../notification/words';
import { Warnings } from '../partners/warnings';
import { AUTH_OPTIONS, AuthFields, authOf, emptyAuth, type AuthType } from '../partners/auth-fields';
import { subscriptionQuery } from '../partners/partner-queries';
import { SampleReport } from '../partners/sample-report';
import { useSample } from '../partners/use-sample';
import { SetupNav } from './setup-nav';

type Made = NewSecret<Schemas['SubscriptionWithSecret']>;
type Report = Schemas['SampleReport'];
type Subscription = Schemas['SubscriptionModel'];

/**
 * The query parameters for the settings page. With them, the settings page returns to this page after the settings are
 * saved.
 */
const CONTINUE = { next: 'connect-partner' };

/**
 * Shows a form that creates a subscription for a partner, and then a button that sends a sample notification. The
 * partner must respond with 200. After the subscription is created, the page's address contains its id. If the operator
 * then goes back to the first step, it shows the subscription instead of the form.
 */
export function ConnectPartnerPage() {
  const [auth, setAuth] = useState<AuthType>('none');
  const [made, setMade] = useState<Made | null>(null);
  const { subscription: id, step } = useSearch({ from: '/setup/connect-partner' });
  const navigate = useNavigate({ from: '/setup/connect-partner' });
  return (
    <Page
      title="Connect a partner"
      trail={<SetupNav />}
      lead="Enter the address of the partner, then send a sample notification to verify the address."
    >
      <p className="hint" aria-live="polite">
        Step {id === undefined || step === '1' ? 1 : 2} of 2
      </p>
      {id === undefined ? (
        <Section title="The partner">
          <div className="form">
            <Select
              label="Authentication at the partner"
              value={auth}
              onChange={(value) => setAuth(value as AuthType)}
              options={AUTH_OPTIONS}
            />
          </div>
          <PartnerForm
            key={auth}
            auth={auth}
            done={(subscription) => {
              setMade(subscription);
              void navigate({ search: { subscription: subscription.id } });
            }}
          />
        </Section>
      ) : (
        <Prove id={id} isFirst={step === '1'} made={made?.id === id ? made : null} renewed={setMade} />
      )}
    </Page>
  );
}

function PartnerForm({ auth, done }: { auth: AuthType; done: (made: Made) => void }) {
  const form = useForm({
    schema: 'SubscriptionBody',
    initial: {
      account_code: '',
      name: '',
      partner_url: '',
      change_reasons: [...CHANGE_REASON_OPTIONS.map(([reason]) => reason)],
      record_changes: [] as string[],
      ca_pem: '',
      ...emptyAuth(auth),
    },
    perform: async ({ auth: given, ...body }: Schemas['SubscriptionBody']) =>
      done(await dataOf(api.POST('/admin/subscriptions', { body: { ...body, auth: authOf(auth, given) } }))),
  });
  return (
    <Form form={form} action="Create subscription">
      <AccountField form={form} name="account_code" label="Account" />
      <FormField form={form} name="name" label="Name" />
      <FormField form={form} name="partner_url" label="Partner URL" />
      <AuthFields form={form} type={auth} />
      <FormField form={form} name="change_reasons" label="Events" options={CHANGE_REASON_OPTIONS} />
      <FormField form={form} name="record_changes" label="Changes of records" options={RECORD_CHANGE_OPTIONS} />
      <FormField form={form} name="ca_pem" label="Certificate authority, PEM" rows={4} />
    </Form>
  );
}

interface ProveProps {
  id: string;
  /** Whether the operator has gone back to the first step. */
  isFirst: boolean;
  /** The new subscription with its secret; null after the user has reloaded the page. */
  made: Made | null;
  renewed: (made: Made) => void;
}

function Prove({ id, isFirst, made, renewed }: ProveProps) {
  const subscription = useQuery(subscriptionQuery(id));
  return (
    <Shown query={subscription}>
      {(found) =>
        isFirst ? <MadePartner subscription={found} /> : <Proof subscription={found} made={made} renewed={renewed} />
      }
    </Shown>
  );
}

/** Shows the subscription that the first step created, with a link to its settings. */
function MadePartner({ subscription }: { subscription: Subscription }) {
  const { id, name, partner_url: url, account_code: account, change_reasons: reasons } = subscription;
  return (
    <Section title="The partner">
      <Facts
        of={[
          ['Account', <AccountNameInline key="account" code={account} />],
          ['Name', name && <bdi key="name">{name}</bdi>],
          ['Partner URL', url],
          ['Events', reasons.map(eventText).join(', ')],
        ]}
      />
      <p className="actions">
        <LinkButton kind="primary" to="/setup/connect-partner" search={{ subscription: id }}>
          Next
        </LinkButton>
        <LinkButton to="/partners/$id/settings" params={{ id }} search={CONTINUE}>
          Change the settings
        </LinkButton>
      </p>
    </Section>
  );
}

type ProofProps = Pick<ProveProps, 'made' | 'renewed'> & { subscription: Subscription };

function Proof({ subscription, made, renewed }: ProofProps) {
  const { id, partner_url: url, warnings } = subscription;
  const { report, error, busy, send } = useSample(id);
  return (
    <>
      <Section title="Subscription created">
        {made === null ? (
          <LostSecret
            lost="The signing secret was shown when the subscription was created. It cannot be shown again."
            renew={async () =>
              renewed(await dataOf(api.POST('/admin/subscriptions/{id}/rotate-secret', { params: { path: { id } } })))
            }
          />
        ) : (
          <SecretOnce
            label="Signing secret"
            secret={made.signing_secret}
            isKept={made.isKept}
            keep={() => renewed({ ...made, isKept: true })}
          />
        )}
        <Warnings of={warnings} />
        <Facts
          of={[
            ['Partner URL', url !== null && <Copyable key="url" text={url} />],
            ['Subscription', <Copyable key="id" text={id} />],
          ]}
        />
        <p className="actions">
          <LinkButton to="/setup/connect-partner" search={{ subscription: id, step: '1' }}>
            Back
          </LinkButton>
          <LinkButton to="/partners/$id/settings" params={{ id }} search={CONTINUE}>
            Change the settings
          </LinkButton>
        </p>
      </Section>
      <Section title="Sample notification">
        <Button kind="primary" isPending={busy !== null} onPress={() => void send({ verify: true })}>
          {report === null ? 'Send a sample' : 'Send the sample again'}
        </Button>
        {error !== null && <ProblemNote error={error} />}
        <div aria-live="polite">{report !== null && <Outcome report={report} id={id} />}</div>
      </Section>
      {report?.delivered && url !== null && <Connected url={url} />}
    </>
  );
}

function Outcome({ report, id }: { report: Report; id: string }) {
  return (
    <>
      <p className={report.delivered ? 'note' : 'note bad'}>
        <strong>
          {report.delivered
            ? 'Delivered. The partner is verified and receives notifications from now on.'
            : 'Not delivered.'}
        </strong>
      </p>
      {report.failure === 'tls' && (
        <p>
          The certificate of the partner was not accepted.{' '}
          <Link to="/partners/$id/settings" params={{ id }} search={CONTINUE}>
            Correct the certificate authority
          </Link>
          , and then send the sample again.
        </p>
      )}
      <SampleReport report={report} />
    </>
  );
}

/** Shows that the partner now receives notifications, and a command with which the partner can test its address. */
function Connected({ url }: { url: string }) {
  const line = `curl -sS -X PUT '${url.replace(/\/$/, '')}/notifications' -H 'Content-Type: application/json' -H 'webhook-id: test' --data '{"change_reason":"BOOKING_CREATED"}' -w '%{http_code}\\n'`;
  return (
    <Section title="Connected">
      <p>
        The service now sends notifications to this partner. The partner can run the following command to check that the
        address answers. Because the request has no signature, the expected answer is a refusal:
      </p>
      <pre className="panel lines" tabIndex={0} role="region" aria-label="Shell command">
        {line}
      </pre>
      <CopyButton text={line} label="Copy the command" />
    </Section>
  );
}
