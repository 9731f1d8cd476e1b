/** Fields, problems and dialogs. */
import { ApiError } from './api.js';
import { announce, byId, el } from './dom.js';

let count = 0;

/** A labelled control; its hint and its fault are read out with it. `name` is the pointer or parameter of the API. */
export function field(label, control, { hint, optional } = {}) {
  control.id = `field-${++count}`;
  const described = [hint && `${control.id}-hint`, `${control.id}-fault`].filter(Boolean).join(' ');
  control.setAttribute('aria-describedby', described);
  return el(
    'div',
    { class: 'field' },
    el('label', { for: control.id }, label, optional ? el('span', { class: 'optional' }, ' (optional)') : null),
    hint ? el('p', { class: 'hint', id: `${control.id}-hint` }, hint) : null,
    control,
    el('p', { class: 'fault', id: `${control.id}-fault` }),
  );
}

export function input(name, attributes = {}) {
  return el('input', { name, type: 'text', autocomplete: 'off', spellcheck: 'false', ...attributes });
}

export function select(name, options, value = '') {
  const element = el(
    'select',
    { name },
    options.map(([optionValue, label]) => el('option', { value: optionValue }, label)),
  );
  element.value = value;
  return element;
}

export function checkboxes(legend, name, options, isChecked) {
  return el(
    'fieldset',
    { class: 'field' },
    el('legend', {}, legend),
    options.map(([value, label, disabled = false]) =>
      el(
        'label',
        { class: 'check' },
        el('input', { type: 'checkbox', name, value, checked: isChecked(value), disabled }),
        label,
      ),
    ),
  );
}

/** A button that can be pressed once until its work is done; what fails is shown in `problems`. */
export function button(label, work, { kind = '', problems } = {}) {
  const element = el('button', { type: 'button', class: kind }, label);
  element.addEventListener('click', () => doing(element, problems, work));
  return element;
}

/** A form that calls `work` when sent; a fault that names a field is told at the field, the rest above the buttons. */
export function form(content, submitLabel, work, { more = [], kind = 'primary' } = {}) {
  const problems = el('div', {});
  const submit = el('button', { type: 'submit', class: kind }, submitLabel);
  const element = el(
    'form',
    { novalidate: true, autocomplete: 'off' },
    content,
    problems,
    el('div', { class: 'actions' }, submit, more),
  );
  element.addEventListener('input', ({ target }) => clearFault(target));
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    for (const control of element.elements) clearFault(control);
    if (firstMissing(element)) return;
    void doing(submit, problems, work, element);
  });
  return element;
}

async function doing(trigger, problems, work, inForm = null) {
  if (trigger.getAttribute('aria-disabled') === 'true') return;
  // Not `disabled`: that would throw the focus away.
  trigger.setAttribute('aria-disabled', 'true');
  trigger.setAttribute('aria-busy', 'true');
  announce();
  problems?.replaceChildren();
  try {
    await work();
  } catch (error) {
    const untold = inForm && error instanceof ApiError ? tellAtFields(inForm, error) : error;
    if (untold) problems?.replaceChildren(problemBox(untold));
  } finally {
    trigger.removeAttribute('aria-disabled');
    trigger.removeAttribute('aria-busy');
  }
}

function firstMissing(element) {
  const missing = [...element.elements].filter((control) => control.required && control.value.trim() === '');
  for (const control of missing) tellFault(control, 'This is needed.');
  missing[0]?.focus();
  return missing.length > 0;
}

function clearFault(control) {
  if (!control.hasAttribute('aria-invalid')) return;
  control.removeAttribute('aria-invalid');
  byId(`${control.id}-fault`).replaceChildren();
}

export function tellFault(control, text) {
  control.setAttribute('aria-invalid', 'true');
  byId(`${control.id}-fault`).replaceChildren(text);
}

/** Null when every fault found its field. */
function tellAtFields(element, error) {
  const faults = error.problem.errors ?? [];
  const controls = faults.map(({ pointer, parameter }) => {
    const name = parameter ?? pointer;
    return [...element.elements].find((control) => control.name === name && byId(`${control.id}-fault`));
  });
  controls.forEach((control, index) => control && tellFault(control, faults[index].detail));
  controls.find(Boolean)?.focus();
  return faults.length > 0 && controls.every(Boolean) ? null : error;
}

/** What the service refused: title, detail, single faults, what a partner said, and the request's id. */
export function problemBox(error) {
  if (!(error instanceof ApiError)) {
    // A fault of the console itself belongs into the browser's log.
    setTimeout(() => {
      throw error;
    });
    return notice('Something went wrong in the console', 'Reload the page and sign in again.');
  }
  const { title, detail, errors = [], failure, http_status: httpStatus, excerpt } = error.problem;
  return notice(
    title ?? error.message,
    detail,
    errors.length > 0
      ? el(
          'ul',
          {},
          errors.map((fault) => el('li', {}, el('code', {}, fault.parameter ?? fault.pointer), ' ', fault.detail)),
        )
      : null,
    failure ? el('p', {}, `Failure: ${failure}${httpStatus ? `, HTTP ${httpStatus}` : ''}`) : null,
    excerpt ? el('pre', {}, excerpt) : null,
    error.requestId ? el('p', { class: 'hint' }, 'Request id ', el('code', {}, error.requestId)) : null,
  );
}

export function notice(title, text, ...more) {
  return el(
    'div',
    { class: 'problem', role: 'alert' },
    el('strong', {}, title),
    text ? el('p', {}, prose(text)) : null,
    more,
  );
}

/** The catalogue of problems sets names of members between backticks. */
function prose(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? el('code', {}, part) : part));
}

/** A modal dialog; `fill(close)` gives its content. The promise is kept with what `close` was given, or null. */
export function dialog(title, fill) {
  return new Promise((resolve) => {
    const id = `dialog-${++count}`;
    const element = el('dialog', { 'aria-labelledby': id });
    let result = null;
    const close = (value = null) => {
      result = value;
      element.close();
    };
    element.append(el('h2', { id }, title), ...[fill(close)].flat());
    element.addEventListener('close', () => {
      element.remove();
      resolve(result);
    });
    document.body.append(element);
    element.showModal();
  });
}

export function cancelButton(close, label = 'Cancel') {
  return el('button', { type: 'button', onclick: () => close() }, label);
}

/** Asks before something is done, with a reason for the audit if `reason` is `required` or `optional`. */
export function confirm({ title, text, reason, hint = 'Kept with the notification.', action, kind, perform }) {
  return dialog(title, (close) => {
    const area =
      reason && el('textarea', { rows: '3', maxlength: '1000', name: '/reason', required: reason === 'required' });
    return [
      el('p', {}, text),
      form(
        area ? field('Reason', area, { optional: reason === 'optional', hint }) : [],
        action,
        async () => close((await perform(area?.value.trim())) ?? true),
        { kind, more: cancelButton(close) },
      ),
    ];
  });
}

/** Shows a secret this once. */
export function showSecret(title, secret) {
  return dialog(title, (close) => {
    const value = el('input', { type: 'text', readonly: true, class: 'secret', autocomplete: 'off', value: secret });
    const copy = el('button', { type: 'button', class: 'primary' }, 'Copy');
    // A modal dialog silences what is outside of it.
    const outcome = el('span', { role: 'status' });
    copy.addEventListener('click', async () => {
      value.select();
      // Only a secure context has a clipboard; elsewhere the selected text is copied by hand.
      const copied = navigator.clipboard?.writeText(secret).then(() => true) ?? false;
      const done = await Promise.resolve(copied).catch(() => false);
      outcome.replaceChildren(done ? 'Copied.' : 'Selected: copy it with the keyboard.');
    });
    return [
      el('p', {}, 'The partner checks signatures with it. It is shown this once and cannot be read again.'),
      field('Signing secret', value),
      el('div', { class: 'actions' }, copy, cancelButton(close, 'Close'), outcome),
    ];
  });
}
