import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, pageOf, type Schemas } from '../api/client';
import { AccountNames } from '../components/account-name';
import { AccountsField } from '../components/account-fields';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { ChosenField } from '../components/chosen-field';
import { Dialog } from '../components/dialog';
import { Form, FormField, useForm, type FormState } from '../components/form';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { toast } from '../components/toast';
import { usePartnerOptions } from '../partners/partner-filter';
import { changeRights } from './rights';
import { SCOPE_OPTIONS } from './scopes';
import { SetupNav } from './setup-nav';

type User = Schemas['UserModel'];

export function UsersPage() {
  const queries = useQueryClient();
  const [edited, setEdited] = useState<User | 'new' | null>(null);
  const columns = useMemo<readonly Column<User>[]>(
    () => [
      {
        id: 'name',
        header: 'User name',
        kind: 'main',
        cell: ({ username, disabled }) => (
          <>
            <bdi>{username}</bdi> {disabled && <Badge state="DISABLED" tone="warn" />}
          </>
        ),
        text: ({ username }) => username,
      },
      {
        id: 'scopes',
        header: 'Scopes',
        text: ({ scopes }) => scopes.join(', '),
      },
      {
        id: 'accounts',
        header: 'Accounts',
        cell: ({ account_codes: codes }) =>
          codes.length === 0 ? <span className="nothing">–</span> : <AccountNames codes={codes} />,
        text: ({ account_codes: codes }) => codes.join(', '),
      },
      {
        id: 'created',
        header: 'Created',
        as: 'time',
        text: ({ created_datetime: at }) => at,
      },
      {
        id: 'do',
        header: 'Action',
        cell: (user) => (
          <div className="actions">
            <Button small aria-label={`Edit ${user.username}`} onPress={() => setEdited(user)}>
              Edit …
            </Button>
            <Button small aria-label={`Unlock ${user.username}`} onPress={() => void unlock(user.username)}>
              Unlock
            </Button>
          </div>
        ),
      },
    ],
    [],
  );
  const saved = () => void queries.invalidateQueries({ queryKey: ['users'] });
  return (
    <Page
      title="Users"
      trail={<SetupNav />}
      lead="A user can perform only the actions that both the user’s scopes and the application’s scopes allow."
      actions={
        <Button kind="primary" onPress={() => setEdited('new')}>
          New user …
        </Button>
      }
    >
      <List
        name="users"
        caption="Users, newest first"
        columns={columns}
        rowKey={({ username }) => username}
        queryKey={['users']}
        load={(cursor, signal) => pageOf(api.GET('/admin/users', { params: { query: { cursor, limit: 50 } }, signal }))}
        empty="No user exists yet."
      />
      {edited === 'new' && <NewUser onClose={() => setEdited(null)} saved={saved} />}
      {edited !== null && edited !== 'new' && <EditUser user={edited} onClose={() => setEdited(null)} saved={saved} />}
    </Page>
  );
}

async function unlock(username: string): Promise<void> {
  try {
    await api.POST('/admin/users/{username}/unlock', { params: { path: { username } } });
    toast(`${username} was unlocked.`);
  } catch (error) {
    toast((error as Error).message, 'bad');
  }
}

interface DialogProps {
  onClose: () => void;
  saved: () => void;
}

function NewUser({ onClose, saved }: DialogProps) {
  const form = useForm({
    schema: 'CreateUserBody',
    initial: { username: '', password: '', account_codes: [], scopes: ['read'], subscription_ids: [] },
    perform: async (body: Schemas['CreateUserBody']) => {
      await api.POST('/admin/users', { body });
      toast('User created.');
      saved();
      onClose();
    },
  });
  return (
    <Dialog title="New user" onClose={onClose}>
      <Form form={form} action="Create" more={<Button onPress={onClose}>Cancel</Button>}>
        <FormField form={form} name="username" label="User name" autoFocus />
        <FormField form={form} name="password" label="Password" type="password" />
        <AccountsField form={form} name="account_codes" label="Accounts" />
        <FormField form={form} name="scopes" label="Scopes" options={SCOPE_OPTIONS} />
        <SubscriptionsField form={form} />
      </Form>
    </Dialog>
  );
}

/**
 * Shows a form field in which the operator chooses the subscriptions that the user may see, by the names of their
 * partners.
 */
function SubscriptionsField({ form }: { form: FormState }) {
  return (
    <ChosenField form={form} name="subscription_ids" label="Subscriptions of a partner" options={usePartnerOptions()} />
  );
}

export function EditUser({ user, onClose, saved }: DialogProps & { user: User }) {
  const { username } = user;
  const form = useForm({
    schema: 'UpdateUserBody',
    initial: {
      password: '',
      account_codes: user.account_codes,
      scopes: user.scopes,
      subscription_ids: user.subscription_ids,
      disabled: user.disabled,
    },
    perform: async (body: Schemas['UpdateUserBody']) => {
      const done = await changeRights(username, user, body, () =>
        api.PUT('/admin/users/{username}', { params: { path: { username } }, body }),
      );
      if (!done) return;
      toast('Saved.');
      saved();
      onClose();
    },
  });
  return (
    <Dialog title={`Edit ${username}`} name={username} onClose={onClose}>
      <Form form={form} action="Save" more={<Button onPress={onClose}>Cancel</Button>}>
        <AccountsField form={form} name="account_codes" label="Accounts" />
        <FormField form={form} name="scopes" label="Scopes" options={SCOPE_OPTIONS} />
        <SubscriptionsField form={form} />
        <FormField
          form={form}
          name="password"
          label="New password"
          type="password"
          hint="Leave empty to keep the current password. A new password signs the user out everywhere. Users who sign in through your organisation have no password here."
        />
        <FormField
          form={form}
          name="disabled"
          label="Disabled"
          hint="If you disable the user, all the user’s tokens will be revoked permanently. The last operator who can sign in cannot be disabled."
        />
      </Form>
    </Dialog>
  );
}
