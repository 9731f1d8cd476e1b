import './queue.css';
import { Link, useSearch } from '@tanstack/react-router';
import type { RowSelectionState } from '@tanstack/react-table';
import { useState } from 'react';
import { ACCOUNT_FILTER } from '../components/account-options';
import { useLive } from '../api/live';
import { failureText } from '../components/failure-text';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Page } from '../components/page';
import { NOTIFICATION_COLUMNS } from '../notification/columns';
import { NOTIFICATION_ITEMS } from '../notification/notification-items';
import { NOTIFIED_OPTIONS, FAILURE_OPTIONS, RETRY_OPTIONS } from '../notification/words';
import { PARTNER_FILTER } from '../partners/partner-filter';
import type { Search } from '../router-search';
import { BulkButtons } from './bulk-buttons';
import { filterOf } from './filter-text';
import { ChosenRows } from './chosen-rows';
import { queuedList } from './queued-list';

const FILTERS: readonly Filter[] = [
  { name: 'booking_code', label: 'Booking code', main: true },
  PARTNER_FILTER,
  { name: 'failure', label: 'Failure', options: FAILURE_OPTIONS },
  { name: 'retry', label: 'Retry', options: RETRY_OPTIONS },
  { name: 'reason', label: 'Reason' },
  { name: 'http_status', label: 'HTTP status' },
  { name: 'candidate_id', label: 'Candidate id' },
  { name: 'change_reason', label: 'Event', options: NOTIFIED_OPTIONS },
  ACCOUNT_FILTER,
  { name: 'from', label: 'Created from', type: 'moment' },
  { name: 'to', label: 'Created before', type: 'moment' },
];

/**
 * Shows all notifications in the error queue, or only those with one cause of failure. The operator selects them
 * manually or by filter, and resends or resolves them.
 */
export function QueuedPage() {
  const { open, ...search }: Search = useSearch({ from: '/queue/notifications' });
  const [chosen, setChosen] = useState<RowSelectionState>({});
  useLive(['undelivered', 'attempts'], [['error-queue', 'list']]);
  const { failure } = filterOf(search);
  return (
    <Page
      title={failure ? failureText(failure === 'none' ? null : failure) : 'Notifications in the error queue'}
      trail={<Link to="/queue">Error queue by cause</Link>}
      actions={<BulkButtons kinds={['resend', 'resolve']} filter={filterOf(search)} primary />}
    >
      <Filters of={FILTERS} />
      <List
        name="error-queue"
        caption="Notifications in the error queue, newest first"
        columns={NOTIFICATION_COLUMNS}
        rowKey={({ id }) => id}
        items={NOTIFICATION_ITEMS}
        {...queuedList(search)}
        selection={{ rows: chosen, onChange: setChosen, label: 'Choose' }}
        empty="No entries match these filters. Clear a filter to see more."
      />
      <ChosenRows ids={Object.keys(chosen)} clear={() => setChosen({})} />
    </Page>
  );
}
