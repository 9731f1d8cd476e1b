import './setup.css';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { Button } from '../components/button';
import { Copyable, CopyButton } from '../components/copy';
import { Select } from '../components/fields';
import { Form, FormField, useForm } from '../components/form';
import { Facts, Page, Section } from '../components/page';
import { ProblemNote } from '../components/states';
import { CHANGE_REASON_OPTIONS } from '../notification/words';
import { Warnings } from '../partners/warnings';
import { AUTH_OPTIONS, AuthFields, authOf, emptyAuth, type AuthType } from '../partners/auth-fields';
import { SampleReport } from '../partners/sample-report';
import { useSample } from '../partners/use-sample';
import { SetupNav } from './setup-nav';

type Made = Schemas['SubscriptionWithSecret'];
type Report = Schemas['SampleReport'];

/**
 * Shows a form that creates a subscription for a partner, and sends a sample notification. The partner must respond
 * with 200.
 */
export function ConnectPartnerPage() {
  const [auth, setAuth] = useState<AuthType>('none');
  const [made, setMade] = useState<Made | null>(null);
  return (
    <Page
      title="Connect a partner"
      trail={<SetupNav />}
      lead="Enter the address of the partner, then send a sample notification to verify it."
    >
      <p className="hint" aria-live="polite">
        Step {made === null ? 1 : 2} of 2
      </p>
      {made === null ? (
        <Section title="The partner">
          <div className="form">
            <Select
              label="Authentication at the partner"
              value={auth}
              onChange={(value) => setAuth(value as AuthType)}
              options={AUTH_OPTIONS}
            />
          </div>
          <PartnerForm key={auth} auth={auth} done={setMade} />
        </Section>
      ) : (
        <Prove made={made} />
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
      ca_pem: '',
      ...emptyAuth(auth),
    },
    perform: async ({ auth: given, ...body }: Schemas['SubscriptionBody']) =>
      done(await dataOf(api.POST('/admin/subscriptions', { body: { ...body, auth: authOf(auth, given) } }))),
  });
  return (
    <Form form={form} action="Create subscription">
      <FormField form={form} name="account_code" label="Account" />
      <FormField form={form} name="name" label="Name" />
      <FormField form={form} name="partner_url" label="Partner URL" />
      <AuthFields form={form} type={auth} />
      <FormField form={form} name="change_reasons" label="Events" options={CHANGE_REASON_OPTIONS} />
      <FormField form={form} name="ca_pem" label="Certificate authority, PEM" rows={4} />
    </Form>
  );
}

function Prove({ made }: { made: Made }) {
  const { report, error, busy, send } = useSample(made.id);
  return (
    <>
      <Section title="Subscription created">
        <p className="note warn">The signing secret is shown only once. Copy it now.</p>
        <Warnings of={made.warnings} />
        <Facts
          of={[
            ['Partner URL', <Copyable key="url" text={made.partner_url ?? ''} />],
            ['Subscription', <Copyable key="id" text={made.id} />],
            ['Signing secret', <Copyable key="secret" text={made.signing_secret} />],
          ]}
        />
      </Section>
      <Section title="Sample notification">
        <Button kind="primary" isPending={busy !== null} onPress={() => void send({ verify: true })}>
          {report === null ? 'Send a sample' : 'Send the sample again'}
        </Button>
        {error !== null && <ProblemNote error={error} />}
        <div aria-live="polite">{report !== null && <Outcome report={report} />}</div>
      </Section>
      {report?.delivered && <Connected made={made} />}
    </>
  );
}

function Outcome({ report }: { report: Report }) {
  return (
    <>
      <p className={report.delivered ? 'note' : 'note bad'}>
        <strong>
          {report.delivered
            ? 'Delivered. The partner is verified and receives notifications from now on.'
            : 'Not delivered.'}
        </strong>
      </p>
      <SampleReport report={report} />
    </>
  );
}

/** Shows the new subscription, and a command with which the partner can test its own address. */
function Connected({ made }: { made: Made }) {
  const line = `curl -sS -X PUT '${(made.partner_url ?? '').replace(/\/$/, '')}/notifications' -H 'Content-Type: application/json' -H 'webhook-id: test' --data '{"change_reason":"BOOKING_CREATED"}' -w '%{http_code}\\n'`;
  return (
    <Section title="Connected">
      <p>
        Notifications are sent from now on. With this command the partner can check that the address answers. The
        request has no signature, so the partner should refuse it:
      </p>
      <pre className="panel lines" tabIndex={0} role="region" aria-label="Shell command">
        {line}
      </pre>
      <CopyButton text={line} label="Copy the command" />
    </Section>
  );
}
