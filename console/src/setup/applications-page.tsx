import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, dataOf, pageOf, type Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Copyable } from '../components/copy';
import { Dialog } from '../components/dialog';
import { Form, FormField, useForm } from '../components/form';
import { List } from '../components/list';
import { Facts, Page } from '../components/page';
import { SecretDialog } from '../components/secret-once';
import type { Column } from '../components/table';
import { toast } from '../components/toast';
import { changeRights } from './rights';
import { SCOPE_OPTIONS } from './scopes';
import { SetupNav } from './setup-nav';

type Application = Schemas['ApplicationModel'];
type Credentials = Schemas['ApplicationCredentialsModel'];

/** The consumer key of the console's own application. */
const CONSOLE_KEY = 'CONSOLEOFTHISSERVICE';

export function ApplicationsPage() {
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Application | 'new' | null>(null);
  const [shown, setShown] = useState<Credentials | null>(null);
  const columns = useMemo<readonly Column<Application>[]>(
    () => [
      {
        id: 'name',
        header: 'Application',
        kind: 'main',
        cell: ({ name, disabled }) => (
          <>
            <bdi>{name}</bdi> {disabled && <Badge state="DISABLED" tone="warn" />}
          </>
        ),
        text: ({ name }) => name,
      },
      {
        id: 'key',
        header: 'Consumer key',
        cell: ({ consumer_key: key }) => <Copyable text={key} />,
        text: ({ consumer_key: key }) => key,
      },
      {
        id: 'scopes',
        header: 'Scopes',
        text: ({ scopes }) => scopes.join(', '),
      },
      {
        id: 'created',
        header: 'Created',
        hidden: true,
        as: 'time',
        text: ({ created_datetime: at }) => at,
      },
      {
        id: 'do',
        header: 'Action',
        cell: (application) => (
          <div className="actions">
            <Button small aria-label={`Edit ${application.name}`} onPress={() => setEdited(application)}>
              Edit …
            </Button>
            <Button
              small
              aria-label={`New secret of ${application.name}`}
              onPress={() => void rotate(application, setShown)}
            >
              New secret …
            </Button>
          </div>
        ),
      },
    ],
    [],
  );
  const saved = () => void queries.invalidateQueries({ queryKey: ['applications'] });

  return (
    <Page
      title="Applications"
      trail={<SetupNav />}
      lead="Applications are the programs that call the service. Each application has a consumer key and a secret."
      actions={
        <Button kind="primary" onPress={() => setEdited('new')}>
          New application …
        </Button>
      }
    >
      <List
        name="applications"
        caption="Applications, newest first"
        columns={columns}
        rowKey={({ consumer_key: key }) => key}
        queryKey={['applications']}
        load={(cursor, signal) =>
          pageOf(api.GET('/admin/applications', { params: { query: { cursor, limit: 50 } }, signal }))
        }
        empty="No application exists yet."
      />
      {edited === 'new' && (
        <NewApplication
          onClose={() => setEdited(null)}
          made={(credentials) => {
            saved();
            setEdited(null);
            setShown(credentials);
          }}
        />
      )}
      {edited !== null && edited !== 'new' && (
        <EditApplication application={edited} onClose={() => setEdited(null)} saved={saved} />
      )}
      {shown && <Secret credentials={shown} onClose={() => setShown(null)} />}
    </Page>
  );
}

async function rotate({ name, consumer_key }: Application, show: (made: Credentials) => void): Promise<void> {
  let made: Credentials | undefined;
  const done = await confirm({
    title: `New secret of ${name}?`,
    name,
    text: (
      <p>The current secret will stop working immediately. Requests will fail until the program uses the new secret.</p>
    ),
    action: 'Create new secret',
    danger: true,
    perform: async () => {
      const path = { consumer_key };
      made = await dataOf(api.POST('/admin/applications/{consumer_key}/rotate-secret', { params: { path } }));
    },
  });
  if (done && made) show(made);
}

function Secret({
  credentials: { consumer_key: key, consumer_secret: secret },
  onClose,
}: {
  credentials: Credentials;
  onClose: () => void;
}) {
  return (
    <SecretDialog title="The secret is shown only once" onClose={onClose}>
      <Facts
        of={[
          ['Consumer key', <Copyable key="key" text={key} />],
          ['Consumer secret', <Copyable key="secret" text={secret} />],
        ]}
      />
    </SecretDialog>
  );
}

function NewApplication({ onClose, made }: { onClose: () => void; made: (credentials: Credentials) => void }) {
  const form = useForm({
    schema: 'CreateApplicationBody',
    initial: { name: '', scopes: ['read'] },
    perform: async (body: Schemas['CreateApplicationBody']) =>
      made(await dataOf(api.POST('/admin/applications', { body }))),
  });
  return (
    <Dialog title="New application" onClose={onClose}>
      <Form form={form} action="Create" more={<Button onPress={onClose}>Cancel</Button>}>
        <FormField form={form} name="name" label="Name" autoFocus />
        <FormField form={form} name="scopes" label="Scopes" options={SCOPE_OPTIONS} />
      </Form>
    </Dialog>
  );
}

export function EditApplication({
  application,
  onClose,
  saved,
}: {
  application: Application;
  onClose: () => void;
  saved: () => void;
}) {
  const { consumer_key, name, scopes, disabled } = application;
  const form = useForm({
    schema: 'UpdateApplicationBody',
    initial: { name, scopes, disabled },
    perform: async (body: Schemas['UpdateApplicationBody']) => {
      const done = await changeRights(name, application, body, () =>
        api.PUT('/admin/applications/{consumer_key}', { params: { path: { consumer_key } }, body }),
      );
      if (!done) return;
      toast('Saved.');
      saved();
      onClose();
    },
  });
  return (
    <Dialog title={`Edit ${name}`} name={name} onClose={onClose}>
      <Form form={form} action="Save" more={<Button onPress={onClose}>Cancel</Button>}>
        <FormField form={form} name="name" label="Name" />
        <FormField form={form} name="scopes" label="Scopes" options={SCOPE_OPTIONS} />
        <FormField
          form={form}
          name="disabled"
          label="Disabled"
          hint={
            consumer_key === CONSOLE_KEY
              ? 'Operators sign in to the console through this application. The application must stay enabled and keep the “admin” scope.'
              : 'If you disable the application, all its tokens will be revoked permanently.'
          }
        />
      </Form>
    </Dialog>
  );
}
