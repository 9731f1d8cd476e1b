/** Lists that come in pages, and the filters before them. */
import { call } from './api.js';
import { announce, el, goTo, route, table } from './dom.js';
import { button, field, form, input, select } from './forms.js';

export const CHANGE_REASONS = [
  'BOOKING_CREATED',
  'BOOKING_CANCELLED',
  'BOOKING_RESCHEDULED',
  'EXAM_COMPLETED',
  'EXCUSED_ABSENT',
  'ABSENT',
];

const FAILURES = {
  dns: 'Name not found',
  connect: 'No connection',
  tls: 'TLS fault',
  timeout: 'No answer in time',
  auth: 'Not authorized',
  redirect: 'Redirect',
  client_error: 'Refused',
  server_error: 'Partner fault',
  protocol: 'Unexpected answer',
  blocked: 'Address not allowed',
};

/** What went wrong, in words and as the API names it. */
export function failureText(failure) {
  return failure === null ? 'Not tried: partner was down' : `${FAILURES[failure] ?? 'Failure'} (${failure})`;
}

export function retryText(retry) {
  return { AUTO: 'Automatic', MANUAL: 'By an operator' }[retry] ?? '–';
}

/**
 * A table of a list of the API, with a button for the next page.
 * @returns {Promise<{element: Element, length: number}>}
 */
export async function pagedTable(caption, columns, path, query) {
  const list = table(caption, columns);
  const problems = el('div', {});
  const more = button('Show more', () => addPage(), { problems });
  let cursor = null;
  let length = 0;
  await addPage();
  const nothing = length === 0 ? el('p', { class: 'empty' }, 'Nothing fits.') : null;
  return { element: el('div', { class: 'list' }, nothing ?? list.element, problems, more), length };

  async function addPage() {
    const page = await call('GET', path, { query: { ...query, ...(cursor === null ? {} : { cursor }) } });
    list.add(page.body);
    length += page.body.length;
    if (cursor !== null) announce(`${page.body.length} more, ${length} in all.`);
    else announce(`${length} ${page.cursor === null ? 'found' : 'shown, there are more'}.`, { quiet: true });
    cursor = page.cursor;
    more.hidden = cursor === null;
  }
}

const CONTROLS = {
  booking_code: () => ['Booking code', input('booking_code', { maxlength: '50' })],
  account_code: () => ['Account code', input('account_code', { maxlength: '50' })],
  change_reason: () => [
    'Event',
    select('change_reason', [['', 'Any'], ...CHANGE_REASONS.map((reason) => [reason, reason])]),
  ],
  state: () => [
    'State',
    select('state', [
      ['', 'Any'],
      ['PENDING', 'Pending'],
      ['DELIVERED', 'Delivered'],
      ['ERROR_QUEUE', 'Error queue'],
      ['RESOLVED', 'Resolved'],
    ]),
  ],
  failure: () => [
    'Failure',
    select('failure', [
      ['', 'Any'],
      ['none', failureText(null)],
      ...Object.keys(FAILURES).map((failure) => [failure, failureText(failure)]),
    ]),
  ],
  actor: () => ['User name', input('actor', { maxlength: '200' })],
  action: () => ['Action', input('action', { maxlength: '200', placeholder: 'subscription.suspend' })],
  subject: () => ['Subject', input('subject', { maxlength: '200' })],
  from: () => ['From (UTC)', input('from', { type: 'datetime-local', step: '1' })],
  to: () => ['Before (UTC)', input('to', { type: 'datetime-local', step: '1' })],
};

/** A form that puts its values into the address; what the address has and the form does not show is kept. */
export function filterForm(path, names, query) {
  const fields = names.map((name) => {
    const [label, control] = CONTROLS[name]();
    control.value = control.type === 'datetime-local' ? (query[name] ?? '').replace('Z', '') : (query[name] ?? '');
    return { name, control, element: field(label, control) };
  });
  return form(
    el(
      'div',
      { class: 'filters' },
      fields.map(({ element }) => element),
    ),
    'Search',
    () => {
      const values = fields.map(({ name, control }) => [name, valueOf(control)]);
      goTo(route(path, { ...query, ...Object.fromEntries(values) }));
    },
    { more: el('a', { class: 'button', href: route(path) }, 'Clear') },
  );
}

/** A moment is typed in UTC and sent as typed; a browser leaves out seconds that are zero. */
function valueOf(control) {
  const value = control.value.trim();
  if (control.type !== 'datetime-local' || value === '') return value;
  return `${value.slice(0, 16)}${value.slice(16, 19) || ':00'}Z`;
}
