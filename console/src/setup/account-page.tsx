import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { api, dataOf, type Schemas } from '../api/client';
import { LinkButton } from '../components/button';
import { Copyable } from '../components/copy';
import { Form, FormField, useForm } from '../components/form';
import { Page, Section } from '../components/page';
import { Shown } from '../components/states';
import { toast } from '../components/toast';
import { KINDS } from './catalogue';
import { SetupNav } from './setup-nav';

type Account = Schemas['AccountModel'];

export function AccountPage() {
  const { account } = useParams({ from: '/setup/accounts/$account' });
  const query = useQuery({
    queryKey: ['account', account],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/admin/accounts/{account_code}', { params: { path: { account_code: account } }, signal })),
  });
  return (
    <Page title={query.data?.name ?? account} trail={<SetupNav />} lead={<Copyable text={account} />}>
      <Section title="Catalogue">
        <p className="actions">
          {Object.entries(KINDS).map(([kind, { title }]) => (
            <LinkButton key={kind} to="/setup/accounts/$account/$kind" params={{ account, kind }}>
              {title}
            </LinkButton>
          ))}
        </p>
      </Section>
      <Section title="Settings">
        <Shown query={query}>{(data) => <Settings key={JSON.stringify(data)} account={data} />}</Shown>
      </Section>
      <p className="hint">
        <Link to="/setup/connect-client">Connect a client</Link> or{' '}
        <Link to="/setup/connect-partner">connect a partner</Link> of this account.
      </p>
    </Page>
  );
}

function Settings({ account }: { account: Account }) {
  const queries = useQueryClient();
  const { account_code } = account;
  const days = (value: number | null) => (value === null ? '' : String(value));
  const form = useForm({
    schema: 'AccountChangeBody',
    initial: {
      name: account.name,
      photo_retention_days: days(account.photo_retention_days),
      video_retention_days: days(account.video_retention_days),
      candidate_retention_days: days(account.candidate_retention_days),
    },
    perform: async (body: Schemas['AccountChangeBody']) => {
      await api.PUT('/admin/accounts/{account_code}', { params: { path: { account_code } }, body });
      toast('Saved.');
      void queries.invalidateQueries({ queryKey: ['account', account_code] });
      void queries.invalidateQueries({ queryKey: ['accounts'] });
    },
  });
  return (
    <Form form={form} action="Save">
      <FormField form={form} name="name" label="Name" />
      <FormField form={form} name="photo_retention_days" label="Days to keep photos" />
      <FormField form={form} name="video_retention_days" label="Days to keep video links" />
      <FormField form={form} name="candidate_retention_days" label="Days to keep candidate data" />
    </Form>
  );
}
