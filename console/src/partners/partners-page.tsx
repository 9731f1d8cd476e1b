import { Link, useSearch } from '@tanstack/react-router';
import { ACCOUNT_FILTER } from '../components/account-options';
import { api, pageOf, type Schemas } from '../api/client';
import { useLive } from '../api/live';
import { useScopes } from '../api/session';
import { Badge } from '../components/badge';
import { LinkButton } from '../components/button';
import { Sparkline } from '../components/chart';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { Time } from '../components/time';
import { certificateText, conditionOf } from './condition';
import { partnerTitle } from './partner-name';
import type { operations } from '../../../clients/typescript/src/openapi';

type Partner = Schemas['ListedPartnerModel'];

type Query = NonNullable<operations['listPartners']['parameters']['query']>;

const FILTERS: readonly Filter[] = [
  { ...ACCOUNT_FILTER, main: true },
  { name: 'failing', label: 'Status', options: [['true', 'Failing or down']] },
];

const COLUMNS: readonly Column<Partner>[] = [
  {
    id: 'partner',
    header: 'Partner',
    kind: 'main',
    cell: (partner) => (
      <>
        <Link to="/partners/$id" params={{ id: partner.subscription_id }}>
          <bdi>{partnerTitle(partner)}</bdi>
        </Link>
        {partner.subscription_name && <small>{partner.partner_url}</small>}
      </>
    ),
    text: partnerTitle,
  },
  {
    id: 'condition',
    header: 'Status',
    cell: (partner) => <Condition partner={partner} />,
    text: (partner) => conditionOf(partner)[0],
  },
  {
    id: 'queued',
    header: 'In the error queue',
    kind: 'number',
    cell: ({ queued, subscription_id: id }) =>
      queued === 0 ? (
        0
      ) : (
        <Link to="/queue" search={{ subscription_id: id }}>
          {queued.toLocaleString('en')}
        </Link>
      ),
    text: ({ queued }) => queued,
  },
  {
    id: 'attempts',
    header: 'Attempts in 24 h',
    cell: (partner) => <Attempts partner={partner} />,
    text: ({ delivered, failed }) => `${total(delivered)} delivered, ${total(failed)} failed`,
  },
  {
    id: 'p95',
    header: 'p95',
    kind: 'number',
    cell: (partner) => {
      const last = lastOf(partner.p95_ms);
      return last === null ? <span className="nothing">–</span> : `${last.toLocaleString('en')} ms`;
    },
    text: ({ p95_ms: p95 }) => lastOf(p95),
  },
  {
    id: 'certificate',
    header: 'Certificate',
    cell: ({ certificate_not_after: notAfter }) => <Certificate notAfter={notAfter} />,
    text: ({ certificate_not_after: notAfter }) => notAfter,
  },
  { id: 'url', header: 'Address', hidden: true, text: ({ partner_url: url }) => url },
  {
    id: 'account',
    header: 'Account',
    as: 'account',
    text: ({ account_code: code }) => code,
  },
  {
    id: 'id',
    header: 'Id',
    hidden: true,
    as: 'id',
    text: ({ subscription_id: id }) => id,
  },
];

function Condition({ partner }: { partner: Partner }) {
  const [word, tone] = conditionOf(partner);
  const since = word === 'FAILING' ? partner.failing_since : partner.down_since;
  return (
    <span>
      <Badge state={word} tone={tone} />
      {since && (
        <small>
          since <Time at={since} compact />
        </small>
      )}
    </span>
  );
}

function Attempts({ partner: { delivered, failed } }: { partner: Partner }) {
  const words = `${total(delivered).toLocaleString('en')} delivered, ${total(failed).toLocaleString('en')} failed`;
  return (
    <span>
      <Sparkline delivered={delivered} failed={failed} label={`Attempts per hour: ${words}`} />
      <small>{words}</small>
    </span>
  );
}

export function Certificate({ notAfter }: { notAfter: string | null | undefined }) {
  const text = certificateText(notAfter);
  return text === null ? <span className="nothing">not seen yet</span> : <Badge state={text[0]} tone={text[1]} />;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Returns the latest hourly value that is not null; null if there was no attempt to notify the partner in any hour. */
function lastOf(values: readonly (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

export function PartnersPage() {
  const search = useSearch({ from: '/partners' });
  const isAdmin = useScopes().includes('admin');
  useLive(['partners', 'attempts'], [['partners', 'list']]);
  return (
    <Page
      title="Partners"
      lead="Partners are the systems that receive notifications."
      actions={isAdmin && <LinkButton to="/setup/connect-partner">Connect a partner</LinkButton>}
    >
      <Filters of={FILTERS} />
      <List
        name="partners"
        caption="Partners"
        columns={COLUMNS}
        rowKey={({ subscription_id: id }) => id}
        queryKey={['partners', 'list', search]}
        load={(cursor, signal) =>
          pageOf(api.GET('/admin/partners', { params: { query: { ...(search as Query), cursor, limit: 50 } }, signal }))
        }
        empty={search.failing === undefined ? 'No partner is connected.' : 'No partner is failing or down.'}
      />
    </Page>
  );
}
