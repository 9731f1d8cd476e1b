import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf, pageOf, type Schemas } from '../api/client';
import { Button } from '../components/button';
import { Copyable } from '../components/copy';
import { Dialog } from '../components/dialog';
import { Form, FormField, useForm } from '../components/form';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { SetupNav } from './setup-nav';

type Account = Schemas['AccountModel'];

const COLUMNS: readonly Column<Account>[] = [
  {
    id: 'name',
    header: 'Account',
    kind: 'main',
    cell: ({ account_code: account, name }) => (
      <Link to="/setup/accounts/$account" params={{ account }}>
        <bdi>{name}</bdi>
      </Link>
    ),
    text: ({ name }) => name,
  },
  {
    id: 'code',
    header: 'Account code',
    cell: ({ account_code: code }) => <Copyable text={code} />,
    text: ({ account_code: code }) => code,
  },
  {
    id: 'created',
    header: 'Opened',
    as: 'time',
    text: ({ created_datetime: at }) => at,
  },
];

export function SetupPage() {
  const [isMaking, setMaking] = useState(false);
  return (
    <Page
      title="Accounts"
      trail={<SetupNav />}
      lead="An account represents one customer of the service. Each account has its own tests, candidates, vouchers and partners."
      actions={
        <Button kind="primary" onPress={() => setMaking(true)}>
          Open an account …
        </Button>
      }
    >
      <List
        name="accounts"
        caption="Accounts, newest first"
        columns={COLUMNS}
        rowKey={({ account_code: code }) => code}
        queryKey={['accounts']}
        load={(cursor, signal) =>
          pageOf(api.GET('/admin/accounts', { params: { query: { cursor, limit: 50 } }, signal }))
        }
        empty="No account exists yet. Open an account to begin."
      />
      {isMaking && <OpenAccount onClose={() => setMaking(false)} />}
    </Page>
  );
}

function OpenAccount({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const form = useForm({
    schema: 'AccountBody',
    initial: { name: '' },
    perform: async (body: Schemas['AccountBody']) => {
      const { account_code: account } = await dataOf(api.POST('/admin/accounts', { body }));
      void queries.invalidateQueries({ queryKey: ['accounts'] });
      await navigate({ to: '/setup/accounts/$account', params: { account } });
    },
  });
  return (
    <Dialog title="Open an account" onClose={onClose}>
      <Form form={form} action="Open" more={<Button onPress={onClose}>Cancel</Button>}>
        <FormField form={form} name="name" label="Name" autoFocus />
      </Form>
    </Dialog>
  );
}
