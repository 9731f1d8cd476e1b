/** One notification: what was sent, what the partner said, and what to do about it. */
import { get, newIdempotencyKey, post } from './api.js';
import { announce, badge, el, facts, heading, route, shown, table, time } from './dom.js';
import { button, confirm } from './forms.js';
import { failureText, retryText } from './lists.js';

/** How long the outcome of a resend is waited for before the operator is left to look again. */
const OUTCOME_MS = 15_000;

export async function notificationScreen({ id, signal, reload }) {
  const path = `/admin/notifications/${id}`;
  const notification = await get(path);
  const queued = notification.state === 'ERROR_QUEUE';
  return [
    el(
      'nav',
      { class: 'trail', 'aria-label': 'Trail' },
      el('a', { href: '#/queue' }, 'Error queue'),
      el('a', { href: route('/notifications', { booking_code: notification.booking_code }) }, 'All of this booking'),
    ),
    heading(`${notification.change_reason} ${notification.booking_code}`, badge(notification.state)),
    el(
      'div',
      { class: 'actions' },
      queued ? button('Resend …', askResend, { kind: 'primary' }) : null,
      queued ? button('Resolve …', askResolve) : null,
      button('Refresh', () => reload('The notification is up to date.')),
    ),
    facts([
      ['Failure', queued ? failureText(notification.failure) : shown(notification.failure)],
      ['HTTP status', shown(notification.http_status)],
      ['Retry', retryText(notification.retry)],
      ['Next attempt (UTC)', time(notification.next_attempt_at)],
      ['Created (UTC)', time(notification.created_datetime)],
      ['Delivered (UTC)', time(notification.delivered_datetime)],
      ['Effective date (UTC)', time(notification.effective_date)],
      ['Number in its booking', String(notification.event_sequence)],
      ['Account', notification.account_code],
      ['Subscription', el('a', { href: route(`/subscriptions/${notification.subscription_id}`) }, 'Open')],
      ['webhook-id', el('code', {}, notification.id)],
    ]),
    el('h2', {}, 'Attempts'),
    notification.attempts.length === 0 ? el('p', { class: 'empty' }, 'None yet.') : attemptsTable(notification),
    el(
      'details',
      {},
      el('summary', {}, 'Body (names the candidate)'),
      el('pre', { tabindex: '0', 'aria-label': 'Body' }, JSON.stringify(notification.body, null, 2)),
    ),
  ];

  async function askResend() {
    const idempotencyKey = newIdempotencyKey();
    const sent = await confirm({
      title: 'Resend this notification?',
      text: 'It is sent at once, also when the partner is down.',
      reason: 'optional',
      action: 'Resend',
      kind: 'primary',
      perform: (reason) => post(`/admin/error-queue/${id}/resend`, reason ? { reason } : {}, idempotencyKey),
    });
    if (sent === null) return;
    announce('Sent again. Waiting for the partner …');
    const state = await outcome();
    if (!signal.aborted) reload(OUTCOMES[state] ?? 'The partner has not answered yet.');
  }

  async function askResolve() {
    const idempotencyKey = newIdempotencyKey();
    const resolved = await confirm({
      title: 'Resolve this notification?',
      text: 'It was settled by other means. It is kept, and never sent again.',
      reason: 'required',
      action: 'Resolve',
      kind: 'primary',
      perform: (reason) => post(`/admin/error-queue/${id}/resolve`, { reason }, idempotencyKey),
    });
    if (resolved !== null) reload('The notification is resolved.');
  }

  /** The state once the attempt is over; PENDING when that takes too long. */
  async function outcome() {
    const until = Date.now() + OUTCOME_MS;
    for (;;) {
      const { state } = await get(path);
      if (state !== 'PENDING' || signal.aborted || Date.now() > until) return state;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

const OUTCOMES = {
  DELIVERED: 'The partner took the notification.',
  ERROR_QUEUE: 'It failed again and is back in the error queue.',
};

function failureOf({ failure, reason }) {
  return failure === null ? shown(null) : [failureText(failure), reason && el('small', {}, reason)];
}

function attemptsTable({ attempts }) {
  const list = table('The oldest first. Times are UTC.', [
    { label: 'At', kind: 'main', cell: ({ at }) => time(at) },
    { label: 'Trigger', cell: ({ trigger }) => trigger },
    { label: 'Took', kind: 'number', cell: ({ duration_ms }) => `${duration_ms.toLocaleString('en')} ms` },
    { label: 'HTTP', cell: ({ http_status }) => shown(http_status) },
    { label: 'Failure', cell: failureOf },
    {
      label: 'The partner said',
      kind: 'wide',
      cell: ({ excerpt }) => (excerpt ? el('pre', {}, excerpt) : shown(null)),
    },
  ]);
  list.add(attempts);
  return list.element;
}
