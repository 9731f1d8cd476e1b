/** Search of notifications of all states. */
import { heading } from './dom.js';
import { NOTIFICATION_COLUMNS } from './error-queue.js';
import { filterForm, pagedTable } from './lists.js';

export async function notificationsScreen({ query }) {
  const list = await pagedTable(
    'The newest first. Times are UTC.',
    NOTIFICATION_COLUMNS,
    '/admin/notifications',
    query,
  );
  const names = ['booking_code', 'state', 'change_reason', 'account_code', 'from', 'to'];
  return [heading('Notifications'), filterForm('/notifications', names, query), list.element];
}
