import './setup.css';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { AccountsField } from '../components/account-fields';
import { AccountNames } from '../components/account-name';
import { api, dataOf, type Schemas } from '../api/client';
import { ROOT } from '../api/root';
import { Button, LinkButton } from '../components/button';
import { Copyable, CopyButton } from '../components/copy';
import { Form, FormField, useForm } from '../components/form';
import { Facts, Page, Section } from '../components/page';
import { LostSecret, SecretOnce, type NewSecret } from '../components/secret-once';
import { Shown } from '../components/states';
import { EditApplication } from './applications-page';
import { SCOPE_OPTIONS } from './scopes';
import { SetupNav } from './setup-nav';
import { EditUser } from './users-page';

type Credentials = NewSecret<Schemas['ApplicationCredentialsModel']>;
type Application = Schemas['ApplicationModel'];
type User = Schemas['UserModel'];

const CLIENT_SCOPES = SCOPE_OPTIONS.filter(([scope]) => !['admin', 'support', 'partner'].includes(scope));

/**
 * Shows forms that create a user and an application for a client, and then a command that tests both. The page's
 * address contains the user and the application, so that the same step is shown after the page is reloaded. If the
 * operator goes back, a completed step shows the user or application that it created.
 */
export function ConnectClientPage() {
  const { user, application, step: chosen } = useSearch({ from: '/setup/connect-client' });
  const [credentials, setCredentials] = useState<Credentials | null>(null);
  const navigate = useNavigate({ from: '/setup/connect-client' });
  const reached = user === undefined ? 1 : application === undefined ? 2 : 3;
  const step = Math.min(reached, chosen === '1' ? 1 : chosen === '2' ? 2 : 3);
  const made = credentials?.consumer_key === application ? credentials : null;
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
            step === 1 ? (
              <MadeUser login={login} application={application} />
            ) : application === undefined ? (
              <ApplicationStep
                login={login}
                done={(made) => {
                  setCredentials(made);
                  void navigate({ search: { user, application: made.consumer_key } });
                }}
              />
            ) : step === 2 ? (
              <MadeApplication user={user} consumerKey={application} />
            ) : (
              <Connected login={login} consumerKey={application} made={made} renewed={setCredentials} />
            )
          }
        </ConnectedUser>
      )}
    </Page>
  );
}

/** Loads the user whose name is in the page's address, and renders `children` with this user. */
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

/** Shows the user that the first step created, and lets the operator change it. */
function MadeUser({ login, application }: { login: User; application: string | undefined }) {
  const { username, account_codes: accounts, scopes } = login;
  const [isEdited, setEdited] = useState(false);
  const queries = useQueryClient();
  return (
    <Section title="The user">
      <Facts
        of={[
          ['User name', <bdi key="name">{username}</bdi>],
          ['Accounts', accounts.length > 0 ? <AccountNames key="accounts" codes={accounts} /> : null],
          ['Scopes', scopes.join(', ')],
        ]}
      />
      <p className="actions">
        <LinkButton kind="primary" to="/setup/connect-client" search={{ user: username, application }}>
          Next
        </LinkButton>
        <Button onPress={() => setEdited(true)}>Edit …</Button>
      </p>
      {isEdited && (
        <EditUser
          user={login}
          onClose={() => setEdited(false)}
          saved={() => void queries.invalidateQueries({ queryKey: ['users'] })}
        />
      )}
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
        exists.
      </p>
      <Form
        form={form}
        action="Create application"
        more={
          <LinkButton to="/setup/connect-client" search={{ user: login.username, step: '1' }}>
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

/** Loads the application that the second step created, and lets the operator change it. */
function MadeApplication({ user, consumerKey }: { user: string; consumerKey: string }) {
  const [edited, setEdited] = useState<Application | null>(null);
  const queries = useQueryClient();
  const application = useQuery({
    queryKey: ['applications', 'one', consumerKey],
    queryFn: ({ signal }) => {
      const params = { path: { consumer_key: consumerKey } };
      return dataOf(api.GET('/admin/applications/{consumer_key}', { params, signal }));
    },
  });
  return (
    <Section title="The application">
      <Shown query={application}>
        {(found) => (
          <>
            <Facts
              of={[
                ['Name', <bdi key="name">{found.name}</bdi>],
                ['Consumer key', <Copyable key="key" text={consumerKey} />],
                ['Scopes', found.scopes.join(', ')],
              ]}
            />
            <p className="actions">
              <LinkButton kind="primary" to="/setup/connect-client" search={{ user, application: consumerKey }}>
                Next
              </LinkButton>
              <Button onPress={() => setEdited(found)}>Edit …</Button>
              <LinkButton to="/setup/connect-client" search={{ user, application: consumerKey, step: '1' }}>
                Back
              </LinkButton>
            </p>
          </>
        )}
      </Shown>
      {edited && (
        <EditApplication
          application={edited}
          onClose={() => setEdited(null)}
          saved={() => void queries.invalidateQueries({ queryKey: ['applications'] })}
        />
      )}
    </Section>
  );
}

interface ConnectedProps {
  login: User;
  consumerKey: string;
  /** The secret of the application; null after the user has reloaded the page. */
  made: Credentials | null;
  renewed: (made: Credentials) => void;
}

function Connected({ login: { username, account_codes: accounts }, consumerKey: key, made, renewed }: ConnectedProps) {
  const base = ROOT.href.replace(/\/$/, '');
  const path = accounts.length === 0 ? '/openapi.json' : `/accounts/${accounts[0]}/eligibilities?limit=1`;
  // The command asks for the password when it runs. Otherwise, the password would be stored in the shell's history.
  const line = [
    `read -rsp 'Password of ${username}: ' PASSWORD`,
    `TOKEN=$(curl -sS -u '${key}:${made?.consumer_secret ?? 'CONSUMER_SECRET'}' '${base}/token' \\`,
    `  --data-urlencode grant_type=password --data-urlencode 'username=${username}' --data-urlencode "password=$PASSWORD" \\`,
    `  | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `curl -sS -H "Authorization: Bearer $TOKEN" '${base}${path}'`,
  ].join('\n');
  return (
    <Section title="Connected">
      {made === null ? (
        <LostSecret
          lost="The secret was shown when the application was created. It cannot be shown again."
          renew={async () => {
            const params = { path: { consumer_key: key } };
            renewed(await dataOf(api.POST('/admin/applications/{consumer_key}/rotate-secret', { params })));
          }}
        />
      ) : (
        <SecretOnce
          label="Consumer secret"
          secret={made.consumer_secret}
          isKept={made.isKept}
          keep={() => renewed({ ...made, isKept: true })}
        />
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
      <p className="actions">
        <CopyButton text={line} label="Copy the commands" />
        <LinkButton to="/setup/connect-client" search={{ user: username, application: key, step: '2' }}>
          Back
        </LinkButton>
      </p>
    </Section>
  );
}
