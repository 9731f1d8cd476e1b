/** The error queue: its causes first, then the notifications of one. */
import { get } from './api.js';
import { badge, el, facts, heading, route, shown, table, time } from './dom.js';
import { button } from './forms.js';
import { failureText, filterForm, pagedTable, retryText } from './lists.js';
import { resendCause } from './resend.js';

export async function queueScreen({ reload }) {
  const [causes, resends] = await Promise.all([
    get('/admin/error-queue/summary'),
    // The way back to a job after signing in again.
    get('/admin/jobs', { kind: 'RESEND', limit: 5 }),
  ]);
  const total = causes.reduce((sum, cause) => sum + cause.count, 0);
  const list = table('Causes, the most frequent first. Times are UTC.', [
    { label: 'Cause', kind: 'main', cell: causeLink },
    { label: 'Partner', kind: 'wide', cell: (cause) => [cause.partner_url, el('small', {}, cause.account_code)] },
    { label: 'HTTP', cell: (cause) => [shown(cause.http_status), cause.reason && el('small', {}, cause.reason)] },
    { label: 'Retry', cell: (cause) => retryText(cause.retry) },
    { label: 'Count', kind: 'number', cell: (cause) => cause.count.toLocaleString('en') },
    { label: 'Oldest', cell: (cause) => time(cause.oldest) },
    { label: 'Newest', cell: (cause) => time(cause.newest) },
  ]);
  list.add(causes);
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  return [
    heading(
      'Error queue',
      button('Refresh', () => reload('The error queue is up to date.')),
    ),
    el(
      'p',
      { class: 'lead' },
      total === 0
        ? 'The queue is empty. '
        : `${total.toLocaleString('en')} notifications, ${causes.length} ${causes.length === 1 ? 'cause' : 'causes'}. `,
      el('span', { class: 'hint' }, 'As of ', time(now), ' UTC'),
    ),
    causes.length > 0 ? list.element : null,
    resends.length > 0 ? recentResends(resends) : null,
  ].filter(Boolean);
}

function causeLink(cause) {
  const { subscription_id, failure, reason, http_status, retry } = cause;
  // `none` names what has none, so that nothing else is shown, and resent.
  const query = { subscription_id, failure: failure ?? 'none', reason: reason ?? 'none', http_status, retry };
  return el('a', { href: route('/queue/notifications', query) }, failureText(failure));
}

function recentResends(resends) {
  const list = table('Times are UTC.', [
    { label: 'Resend', kind: 'main', cell: ({ job_id: id }) => el('a', { href: route(`/resends/${id}`) }, id) },
    { label: 'State', cell: ({ state }) => badge(state) },
    { label: 'By', cell: ({ actor }) => actor },
    { label: 'Made', cell: ({ created_datetime }) => time(created_datetime) },
  ]);
  list.add(resends);
  return el('section', {}, el('h2', {}, 'Latest bulk resends'), list.element);
}

export const NOTIFICATION_COLUMNS = [
  {
    label: 'Booking',
    kind: 'main',
    cell: ({ id, booking_code }) => el('a', { href: route(`/notifications/${id}`) }, booking_code),
  },
  { label: 'Event', cell: ({ change_reason }) => change_reason },
  { label: 'No.', kind: 'number', cell: ({ event_sequence }) => String(event_sequence) },
  { label: 'State', cell: ({ state }) => badge(state) },
  {
    label: 'Failure',
    kind: 'wide',
    cell: ({ state, failure, http_status }) =>
      state !== 'ERROR_QUEUE' && failure === null
        ? shown(null)
        : [failureText(failure), http_status === null ? null : el('small', {}, `HTTP ${http_status}`)],
  },
  { label: 'Retry', cell: ({ retry }) => retryText(retry) },
  { label: 'Created', cell: ({ created_datetime }) => time(created_datetime) },
];

export async function causeScreen({ query }) {
  const { subscription_id: id, failure, http_status: httpStatus, retry } = query;
  const [subscription, list] = await Promise.all([
    id === undefined ? null : get(`/admin/subscriptions/${encodeURIComponent(id)}`).catch(() => null),
    pagedTable('Notifications, the newest first. Times are UTC.', NOTIFICATION_COLUMNS, '/admin/error-queue', query),
  ]);
  const what =
    failure === undefined ? 'Notifications in the error queue' : failureText(failure === 'none' ? null : failure);
  return [
    el('nav', { class: 'trail', 'aria-label': 'Trail' }, el('a', { href: '#/queue' }, 'Error queue')),
    heading(
      what,
      list.length > 0 ? button('Resend all of these …', () => resendCause(query, what), { kind: 'primary' }) : null,
    ),
    facts(
      [
        subscription && ['Partner', el('a', { href: route(`/subscriptions/${id}`) }, subscription.partner_url)],
        subscription && ['Subscription', [badge(subscription.state), ' ', badge(subscription.health)]],
        httpStatus && ['HTTP status', httpStatus],
        retry && ['Retry', retryText(retry)],
      ].filter(Boolean),
    ),
    el(
      'details',
      {},
      el('summary', {}, 'Narrow down'),
      filterForm('/queue/notifications', ['booking_code', 'change_reason', 'failure', 'from', 'to'], query),
    ),
    list.element,
  ];
}
