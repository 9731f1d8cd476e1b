/** Subscriptions: who is told of an account's events, and whether that works. */
import { get, post } from './api.js';
import { badge, el, facts, heading, route, shown, time } from './dom.js';
import { button, confirm, showSecret } from './forms.js';
import { filterForm, pagedTable } from './lists.js';

const COLUMNS = [
  {
    label: 'Partner',
    kind: 'main',
    cell: ({ id, partner_url }) => el('a', { href: route(`/subscriptions/${id}`) }, partner_url),
  },
  { label: 'Account', cell: ({ account_code }) => account_code },
  { label: 'State', cell: ({ state }) => badge(state) },
  { label: 'Health', cell: ({ health }) => badge(health) },
  { label: 'Next probe', cell: ({ next_probe_at }) => time(next_probe_at) },
  { label: 'Changed', cell: ({ updated_datetime }) => time(updated_datetime) },
];

export async function subscriptionsScreen({ query }) {
  const list = await pagedTable('The newest first. Times are UTC.', COLUMNS, '/admin/subscriptions', query);
  return [
    heading('Subscriptions', el('a', { class: 'button primary', href: '#/subscriptions/new' }, 'New subscription')),
    filterForm('/subscriptions', ['account_code'], query),
    list.element,
  ];
}

export async function subscriptionScreen({ id, reload }) {
  const path = `/admin/subscriptions/${id}`;
  const subscription = await get(path);
  const { state, health, auth } = subscription;
  const problems = el('div', {});
  const act = (label, action, done, kind) =>
    button(
      label,
      async () => {
        await post(`${path}/${action}`);
        reload(done);
      },
      { problems, kind },
    );
  return [
    el('nav', { class: 'trail', 'aria-label': 'Trail' }, el('a', { href: '#/subscriptions' }, 'Subscriptions')),
    heading(subscription.partner_url, badge(state), badge(health)),
    el('p', { class: 'lead' }, meaning(subscription)),
    el(
      'div',
      { class: 'actions' },
      state === 'ACTIVE' ? button('Suspend …', askSuspend, { problems }) : null,
      state === 'SUSPENDED' ? act('Resume', 'resume', 'The subscription is active again.', 'primary') : null,
      act('Verify', 'verify', 'The partner took the sample.', state === 'UNVERIFIED' ? 'primary' : ''),
      button('Rotate secret …', askRotate, { problems }),
      el('a', { class: 'button', href: route('/queue/notifications', { subscription_id: id }) }, 'Its error queue'),
    ),
    problems,
    facts([
      ['Account', subscription.account_code],
      ['Events', subscription.change_reasons.join(', ')],
      ['Authentication', auth.type],
      ...Object.entries(auth)
        .filter(([name, value]) => name !== 'type' && value !== null)
        .map(([name, value]) => [name, value]),
      ['Time for one attempt', subscription.wait_ms === null ? 'the usual' : `${subscription.wait_ms} ms`],
      ['Retried automatically', subscription.auto_retry_on.join(', ')],
      ['Own root certificates', subscription.ca_pem === null ? 'no' : 'yes'],
      ['Client certificate', subscription.client_cert_pem === null ? 'no' : 'yes'],
      ['Next probe (UTC)', time(subscription.next_probe_at)],
      ['Created (UTC)', time(subscription.created_datetime)],
      ['Changed (UTC)', time(subscription.updated_datetime)],
      ['Id', el('code', {}, shown(id))],
    ]),
  ];

  async function askSuspend() {
    const suspended = await confirm({
      title: 'Suspend this subscription?',
      text: 'Nothing is sent until it is resumed. Events are kept and go out then.',
      action: 'Suspend',
      kind: 'danger',
      perform: () => post(`${path}/suspend`),
    });
    if (suspended !== null) reload('The subscription is suspended.');
  }

  async function askRotate() {
    const rotated = await confirm({
      title: 'Make a new signing secret?',
      text: 'For 24 hours notifications bear both signatures; then the old secret is of no use.',
      action: 'Make a new secret',
      kind: 'primary',
      perform: () => post(`${path}/rotate-secret`),
    });
    if (rotated === null) return;
    await showSecret('The new signing secret', rotated.signing_secret);
    reload('The signing secret is changed.');
  }
}

function meaning({ state, health }) {
  if (state === 'UNVERIFIED') return 'Nothing is sent before the partner has taken a sample. Verify it.';
  if (state === 'SUSPENDED') return 'Nothing is sent until it is resumed; events are kept.';
  return health === 'DOWN'
    ? 'The partner says that it is down. Events wait and are sent again automatically.'
    : 'Events are sent as they happen.';
}
