import './setup.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { AccountsField } from '../components/account-fields';
import { api, dataOf, type Schemas } from '../api/client';
import { ROOT } from '../api/root';
import { LinkButton } from '../components/button';
import { Copyable, CopyButton } from '../components/copy';
import { Form, FormField, useForm } from '../components/form';
import { Facts, Page, Section } from '../components/page';
import { LostSecret, SecretOnce } from '../components/secret-once';
import { Shown } from '../components/states';
import { SCOPE_OPTIONS } from './scopes';
import { SetupNav } from './setup-nav';

type Credentials = Schemas['ApplicationCredentialsModel'];
type User = Schemas['UserModel'];

const CLIENT_SCOPES = SCOPE_OPTIONS.filter(([scope]) => !['admin', 'support', 'partner'].includes(scope));

/**
 * Shows forms that create a user and an application for a client, and then a command that tests both. The page's
 * address contains the user and the application, so that the same step is shown when the page is loaded again.
 */
export function ConnectClientPage() {
  const { user, application } = useSearch({ from: '/setup/connect-client' });
  const [credentials, setCredentials] = useState<Credentials | null>(null);
  const navigate = useNavigate({ from: '/setup/connect-client' });
  const step = user === undefined ? 1 : application === undefined ? 2 : 3;
  const secret = credentials?.consumer_key === application ? credentials?.consumer_secret : undefined;
  return (
    <Page
      title="Connect a client"
      trail={<SetupNav />}
      lead="A client program needs a user and an application to get an access token. Create both here."
    >
      <p className="hint" aria-live="polite">
        Step {step} of 3
      </p>
      {user === undefined && <UserStep done={(name) => void navigate({ search: { user: name } })} />}
      {user !== undefined && (
        <ConnectedUser name={user}>
          {(login) =>
            application === undefined ? (
              <ApplicationStep
                login={login}
                done={(made) => {
                  setCredentials(made);
                  void navigate({ search: { user, application: made.consumer_key } });
                }}
              />
            ) : (
              <Connected login={login} consumerKey={application} secret={secret} renewed={setCredentials} />
            )
          }
        </ConnectedUser>
      )}
    </Page>
  );
}

/** Loads the user that the address names. */
function ConnectedUser({ name, children }: { name: string; children: (login: User) => ReactNode }) {
  const user = useQuery({
    queryKey: ['users', 'one', name],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/admin/users/{username}', { params: { path: { username: name } }, signal })),
  });
  return <Shown query={user}>{children}</Shown>;
}

function UserStep({ done }: { done: (username: string) => void }) {
  const form = useForm({
    schema: 'CreateUserBody',
    initial: { username: '', password: '', account_codes: [], scopes: ['read', 'create', 'update'] },
    perform: async (body: Schemas['CreateUserBody']) => {
      await api.POST('/admin/users', { body });
      done(body.username);
    },
  });
  return (
    <Section title="The user">
      <Form form={form} action="Create user">
        <AccountsField form={form} name="account_codes" label="Accounts" />
        <FormField form={form} name="username" label="User name" />
        <FormField form={form} name="password" label="Password" type="password" />
        <FormField form={form} name="scopes" label="Scopes" options={CLIENT_SCOPES} />
      </Form>
    </Section>
  );
}

function ApplicationStep({ login, done }: { login: User; done: (credentials: Credentials) => void }) {
  const form = useForm({
    schema: 'CreateApplicationBody',
    initial: { name: '', scopes: login.scopes },
    perform: async (body: Schemas['CreateApplicationBody']) =>
      done(await dataOf(api.POST('/admin/applications', { body }))),
  });
  return (
    <Section title="The application">
      <p className="hint">
        The user{' '}
        <strong>
          <bdi>{login.username}</bdi>
        </strong>{' '}
        exists. You can change it under <Link to="/setup/users">Users</Link>.
      </p>
      <Form
        form={form}
        action="Create application"
        more={
          <LinkButton to="/setup/connect-client" search={{}}>
            Back
          </LinkButton>
        }
      >
        <FormField form={form} name="name" label="Name" autoFocus />
        <FormField form={form} name="scopes" label="Scopes" options={CLIENT_SCOPES} />
      </Form>
    </Section>
  );
}

interface ConnectedProps {
  login: User;
  consumerKey: string;
  /** The secret of the application; undefined after the page was loaded again. */
  secret: string | undefined;
  renewed: (made: Credentials) => void;
}

function Connected({
  login: { username, account_codes: accounts },
  consumerKey: key,
  secret,
  renewed,
}: ConnectedProps) {
  const base = ROOT.href.replace(/\/$/, '');
  const path = accounts.length === 0 ? '/openapi.json' : `/accounts/${accounts[0]}/eligibilities?limit=1`;
  // The command asks for the password when it runs, so that the password is not in the history of the shell.
  const line = [
    `read -rsp 'Password of ${username}: ' PASSWORD`,
    `TOKEN=$(curl -sS -u '${key}:${secret ?? 'CONSUMER_SECRET'}' '${base}/token' \\`,
    `  --data-urlencode grant_type=password --data-urlencode 'username=${username}' --data-urlencode "password=$PASSWORD" \\`,
    `  | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `curl -sS -H "Authorization: Bearer $TOKEN" '${base}${path}'`,
  ].join('\n');
  return (
    <Section title="Connected">
      {secret === undefined ? (
        <LostSecret
          lost="The secret was shown when the application was created. It cannot be shown again."
          renew={async () => {
            const params = { path: { consumer_key: key } };
            renewed(await dataOf(api.POST('/admin/applications/{consumer_key}/rotate-secret', { params })));
          }}
        />
      ) : (
        <SecretOnce key={secret} label="Consumer secret" secret={secret} />
      )}
      <Facts
        of={[
          ['User name', <bdi key="user">{username}</bdi>],
          ['Consumer key', <Copyable key="key" text={key} />],
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
