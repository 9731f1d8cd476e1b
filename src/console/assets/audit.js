/** Who did what. */
import { el, heading, route, shown, time } from './dom.js';
import { filterForm, pagedTable } from './lists.js';

const COLUMNS = [
  { label: 'At', cell: ({ at }) => time(at) },
  { label: 'User', cell: ({ actor }) => actor },
  { label: 'Action', kind: 'main', cell: ({ action }) => action },
  { label: 'Subject', kind: 'wide', cell: subjectOf },
  { label: 'Request', kind: 'wide', cell: ({ request_id }) => shown(request_id) },
];

function subjectOf({ action, subject }) {
  const [kind] = action.split('.');
  if (!/^[0-9a-f-]{36}$/.test(subject)) return subject;
  if (kind === 'job') return el('a', { href: route(`/resends/${subject}`) }, subject);
  if (kind === 'notification') return el('a', { href: route(`/notifications/${subject}`) }, subject);
  if (kind === 'subscription') return el('a', { href: route(`/subscriptions/${subject}`) }, subject);
  return subject;
}

export async function auditScreen({ query }) {
  const list = await pagedTable('The newest first. Times are UTC.', COLUMNS, '/admin/audit', query);
  const filters = filterForm('/audit', ['actor', 'action', 'subject', 'from', 'to'], query);
  return [heading('Audit'), filters, list.element];
}
