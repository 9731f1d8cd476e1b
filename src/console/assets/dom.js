/** Elements. Text always goes in as text nodes: nothing that the service or a partner sent can become markup. */

/** `el('a', { href: '#/', class: 'x', onclick: f, hidden: true }, 'text', child, [more])`; null children are left out. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A heading that can take the focus when its screen is shown. */
export function heading(text, ...more) {
  return el('div', { class: 'heading' }, el('h1', { tabindex: '-1' }, text), more);
}

/** A date-time of the API, as it is: UTC. Column and label say so. */
export function time(dateTime) {
  if (dateTime == null) return none();
  return el('time', { datetime: dateTime }, dateTime.replace('T', ' ').replace('Z', ''));
}

export function none() {
  return el('span', { class: 'none' }, '–');
}

export function shown(value) {
  return value == null || value === '' ? none() : String(value);
}

const TONES = {
  ACTIVE: 'good',
  UP: 'good',
  DELIVERED: 'good',
  DONE: 'good',
  ELIGIBLE: 'good',
  ERROR_QUEUE: 'bad',
  DOWN: 'bad',
  ABORTED: 'bad',
  SUSPENDED: 'warn',
  UNVERIFIED: 'warn',
  PAUSED: 'warn',
  PENDING: 'busy',
  RUNNING: 'busy',
};

/** A state as a word; the colour only repeats it. */
export function badge(state) {
  return el('span', { class: `badge ${TONES[state] ?? ''}` }, state.replaceAll('_', ' '));
}

/** Pairs of a term and what it is. */
export function facts(pairs) {
  return el(
    'dl',
    { class: 'facts' },
    pairs.map(([term, value]) => el('div', {}, el('dt', {}, term), el('dd', {}, value))),
  );
}

/**
 * @param columns `{ label, cell(row), kind? }`; `kind` is a class of the column: `number`, `wide`, `main`
 * The roles are written out because a narrow window shows the rows as cards, and a table that is laid out otherwise is
 * none to a screen reader.
 */
export function table(caption, columns) {
  const body = el('tbody', { role: 'rowgroup' });
  const element = el(
    'table',
    { role: 'table' },
    el('caption', {}, caption),
    el(
      'thead',
      { role: 'rowgroup' },
      el(
        'tr',
        { role: 'row' },
        columns.map(({ label, kind }) => el('th', { role: 'columnheader', scope: 'col', class: kind }, label)),
      ),
    ),
    body,
  );
  const row = (item) =>
    el(
      'tr',
      { role: 'row' },
      columns.map(({ label, cell, kind }) =>
        el('td', { role: 'cell', class: kind, 'data-label': label }, el('div', {}, cell(item))),
      ),
    );
  return { element, add: (items) => body.append(...items.map(row)) };
}

/** Says what happened without moving anything: to a screen reader, and unless it is `quiet` to the eye as well. */
export function announce(text = '', { quiet = false } = {}) {
  const announcer = byId('announcer');
  announcer.classList.toggle('unseen', quiet);
  announcer.replaceChildren(...(text === '' ? [] : [text]));
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => announcer.replaceChildren(), 8000);
}

/** An address within the console. */
export function route(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value != null && value !== '');
  const search = new URLSearchParams(given).toString();
  return `#${path}${search === '' ? '' : `?${search}`}`;
}

/** Goes to an address of the console; to the one that is shown, too, which then is shown anew. */
export function goTo(hash) {
  if (location.hash === hash) dispatchEvent(new Event('hashchange'));
  else location.hash = hash;
}
