import { useSearch } from '@tanstack/react-router';
import { ACCOUNT_FILTER } from '../components/account-options';
import { api, pageOf } from '../api/client';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Page } from '../components/page';
import { PARTNER_FILTER } from '../partners/partner-filter';
import { NOTIFICATION_COLUMNS } from './columns';
import { NOTIFICATION_ITEMS } from './notification-items';
import { notificationQuery } from './notification-query';
import { EXAM_IN_OPTIONS, FAILURE_OPTIONS, NOTIFIED_OPTIONS, STATE_OPTIONS } from './words';

const FILTERS: readonly Filter[] = [
  { name: 'booking_code', label: 'Booking code', main: true },
  PARTNER_FILTER,
  { name: 'state', label: 'State', options: STATE_OPTIONS },
  { name: 'failure', label: 'Failure', options: FAILURE_OPTIONS },
  { name: 'candidate_id', label: 'Candidate id' },
  { name: 'change_reason', label: 'Event', options: NOTIFIED_OPTIONS },
  { name: 'exam_in', label: 'Undelivered: time until exam', options: EXAM_IN_OPTIONS },
  ACCOUNT_FILTER,
  { name: 'from', label: 'Created from', type: 'moment' },
  { name: 'to', label: 'Created before', type: 'moment' },
];

export function NotificationsPage() {
  const { open, ...search } = useSearch({ from: '/notifications' });
  const query = notificationQuery(search);
  return (
    <Page
      title="Notifications"
      lead={
        search.exam_in === undefined
          ? 'All notifications to partners, newest first.'
          : 'Undelivered notifications, sorted by the time until the exam.'
      }
    >
      <Filters of={FILTERS} />
      <List
        name="notifications"
        caption={search.exam_in === undefined ? 'Notifications, newest first' : 'Notifications, next exam first'}
        columns={NOTIFICATION_COLUMNS}
        rowKey={({ id }) => id}
        items={NOTIFICATION_ITEMS}
        queryKey={['notifications', search]}
        load={(cursor, signal) =>
          pageOf(api.GET('/admin/notifications', { params: { query: { ...query, cursor, limit: 50 } }, signal }))
        }
        empty="No entries match these filters. Clear a filter to see more."
      />
    </Page>
  );
}
