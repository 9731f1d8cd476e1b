import './setup.css';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { ROOT } from '../api/root';
import { Copyable, CopyButton } from '../components/copy';
import { Form, FormField, useForm } from '../components/form';
import { Facts, Page, Section } from '../components/page';
import { SCOPE_OPTIONS } from './scopes';
import { SetupNav } from './setup-nav';

type Credentials = Schemas['ApplicationCredentialsModel'];

interface Login {
  username: string;
  password: string;
  account: string;
  scopes: Schemas['CreateUserBody']['scopes'];
}

const CLIENT_SCOPES = SCOPE_OPTIONS.filter(([scope]) => !['admin', 'support', 'partner'].includes(scope));

/** Shows a form that creates a user and an application for a client, and then a command that tests both. */
export function ConnectClientPage() {
  const [login, setLogin] = useState<Login | null>(null);
  const [credentials, setCredentials] = useState<Credentials | null>(null);
  const step = login === null ? 1 : credentials === null ? 2 : 3;
  return (
    <Page
      title="Connect a client"
      trail={<SetupNav />}
      lead="A client program needs a user and an application to get an access token. Create both here."
    >
      <p className="hint" aria-live="polite">
        Step {step} of 3
      </p>
      {login === null && <UserStep done={setLogin} />}
      {login !== null && credentials === null && <ApplicationStep login={login} done={setCredentials} />}
      {login !== null && credentials !== null && <Connected login={login} credentials={credentials} />}
    </Page>
  );
}

function UserStep({ done }: { done: (login: Login) => void }) {
  const form = useForm({
    schema: 'CreateUserBody',
    initial: { username: '', password: '', account_codes: [], scopes: ['read', 'create', 'update'] },
    perform: async (body: Schemas['CreateUserBody']) => {
      await api.POST('/admin/users', { body });
      const { username, password, account_codes: accounts, scopes } = body;
      done({ username, password, account: accounts?.[0] ?? '', scopes });
    },
  });
  return (
    <Section title="The user">
      <Form form={form} action="Create user">
        <FormField form={form} name="account_codes" label="Accounts" />
        <FormField form={form} name="username" label="User name" />
        <FormField form={form} name="password" label="Password" type="password" />
        <FormField form={form} name="scopes" label="Scopes" options={CLIENT_SCOPES} />
      </Form>
    </Section>
  );
}

function ApplicationStep({ login, done }: { login: Login; done: (credentials: Credentials) => void }) {
  const form = useForm({
    schema: 'CreateApplicationBody',
    initial: { name: '', scopes: login.scopes },
    perform: async (body: Schemas['CreateApplicationBody']) =>
      done(await dataOf(api.POST('/admin/applications', { body }))),
  });
  return (
    <Section title="The application">
      <Form form={form} action="Create application">
        <FormField form={form} name="name" label="Name" autoFocus />
        <FormField form={form} name="scopes" label="Scopes" options={CLIENT_SCOPES} />
      </Form>
    </Section>
  );
}

function Connected({ login: { username, account }, credentials }: { login: Login; credentials: Credentials }) {
  const { consumer_key: key, consumer_secret: secret } = credentials;
  const base = ROOT.href.replace(/\/$/, '');
  const path = account === '' ? '/openapi.json' : `/accounts/${account}/eligibilities?limit=1`;
  // The user types the password where the command runs, so that no shell history contains it.
  const line = [
    `read -rsp 'Password of ${username}: ' PASSWORD`,
    `TOKEN=$(curl -sS -u '${key}:${secret}' '${base}/token' \\`,
    `  --data-urlencode grant_type=password --data-urlencode 'username=${username}' --data-urlencode "password=$PASSWORD" \\`,
    `  | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `curl -sS -H "Authorization: Bearer $TOKEN" '${base}${path}'`,
  ].join('\n');
  return (
    <Section title="Connected">
      <p className="note warn">The secret is shown only once. Copy it now.</p>
      <Facts
        of={[
          ['User name', username],
          ['Consumer key', <Copyable key="key" text={key} />],
          ['Consumer secret', <Copyable key="secret" text={secret} />],
          ['Token service', <Copyable key="token" text={`${base}/token`} />],
        ]}
      />
      <p>Run these commands in a shell to get an access token and send the first request:</p>
      <pre className="panel lines" tabIndex={0} role="region" aria-label="Shell commands">
        {line}
      </pre>
      <CopyButton text={line} label="Copy the commands" />
    </Section>
  );
}
