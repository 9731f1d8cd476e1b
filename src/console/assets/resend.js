/** Bulk resends: how many first, then the job and how far it is. */
import { call, get, newIdempotencyKey, post } from './api.js';
import { announce, badge, el, facts, goTo, heading, route, time } from './dom.js';
import { button, cancelButton, confirm, dialog, field, form, problemBox } from './forms.js';

const POLL_MS = 1000;
/** A paused job moves only when somebody resumes it. */
const POLL_PAUSED_MS = 5000;

/** Asks for a reason, tells how many notifications fit the filter, and makes the job when that is confirmed. */
export async function resendCause(filter, what) {
  const resendId = await dialog(`Resend: ${what}`, (close) => {
    const area = el('textarea', { rows: '3', maxlength: '1000', name: '/reason', required: true });
    const content = el('div', {});
    content.append(
      form(
        field('Reason', area, { hint: 'Kept with the job, its notifications and the audit.' }),
        'Count first',
        async () => {
          const body = { filter, reason: area.value.trim() };
          const counted = await post('/admin/error-queue/resend', { ...body, dry_run: true });
          const next = confirmation(body, counted, close);
          content.replaceChildren(next);
          (next.querySelector('button') ?? next).focus();
        },
        { more: cancelButton(close) },
      ),
    );
    return content;
  });
  if (resendId) goTo(route(`/resends/${resendId}`));
}

function confirmation(body, { matched, matched_at_least: atLeast }, close) {
  const number = matched === null ? `at least ${atLeast.toLocaleString('en')}` : matched.toLocaleString('en');
  const fits = el('p', { role: 'status' }, el('strong', {}, number), ' notifications fit now.');
  if (matched === 0) return el('div', {}, fits, el('div', { class: 'actions' }, cancelButton(close, 'Close')));
  const idempotencyKey = newIdempotencyKey();
  return el(
    'div',
    {},
    fits,
    el(
      'p',
      {},
      'They are sent oldest first: to each partner one alone, and the others once it is delivered. You can pause and abort.',
    ),
    el('blockquote', {}, body.reason),
    form(
      [],
      `Resend ${number}`,
      async () => close((await post('/admin/error-queue/resend', body, idempotencyKey)).resend_id),
      { more: cancelButton(close) },
    ),
  );
}

export async function resendScreen({ id, signal }) {
  const path = `/admin/error-queue/resends/${id}`;
  const bar = el('progress', { 'aria-label': 'Progress' });
  const state = el('span', {});
  const figures = el('div', {});
  const note = el('p', { class: 'hint note' });
  const problems = el('div', {});
  const actions = {
    pause: button('Pause', () => steer('pause'), { problems }),
    resume: button('Resume', () => steer('resume'), { problems, kind: 'primary' }),
    abort: button('Abort …', askAbort, { problems, kind: 'danger' }),
  };
  let job = await get(path);
  render();
  void follow();
  return [
    el('nav', { class: 'trail', 'aria-label': 'Trail' }, el('a', { href: '#/queue' }, 'Error queue')),
    heading('Bulk resend', state),
    bar,
    figures,
    note,
    problems,
    el('div', { class: 'actions' }, Object.values(actions)),
    facts([
      ['Reason', job.reason],
      ['By', job.actor],
      ['Made (UTC)', time(job.created_datetime)],
      ['Id', el('code', {}, job.resend_id)],
    ]),
  ];

  function render() {
    const { matched, waiting, sent, delivered, failed, skipped } = job;
    bar.max = Math.max(matched ?? 1, 1);
    bar.value = matched === 0 ? 1 : matched === null ? 0 : delivered + failed + skipped;
    state.replaceChildren(badge(job.state));
    figures.replaceChildren(
      facts([
        ['Matched', matched === null ? 'being counted' : matched.toLocaleString('en')],
        ['Sent', sent.toLocaleString('en')],
        ['Delivered', delivered.toLocaleString('en')],
        ['Failed', failed.toLocaleString('en')],
        ['Waiting', waiting.toLocaleString('en')],
        ['Settled otherwise', skipped.toLocaleString('en')],
      ]),
    );
    note.replaceChildren(noteOn(job));
    const over = isOver(job);
    actions.pause.hidden = over || job.state === 'PAUSED';
    actions.resume.hidden = over || job.state !== 'PAUSED';
    actions.abort.hidden = over;
  }

  function take(next) {
    const changed = next.state !== job.state;
    job = next;
    render();
    if (changed)
      announce(`The resend is ${job.state.toLowerCase()}: ${job.delivered} delivered, ${job.failed} failed.`);
  }

  async function follow() {
    while (!signal.aborted && !isSettled(job)) {
      await pause(job.state === 'PAUSED' ? POLL_PAUSED_MS : POLL_MS, signal);
      if (signal.aborted) return;
      try {
        const next = await get(path);
        if (signal.aborted) return;
        problems.replaceChildren();
        take(next);
      } catch (error) {
        problems.replaceChildren(problemBox(error));
        if (error.status === 401 || error.status === 403) return;
      }
    }
  }

  async function steer(action) {
    take((await call('POST', `${path}/${action}`, { idempotencyKey: newIdempotencyKey() })).body);
    Object.values(actions)
      .find((candidate) => !candidate.hidden)
      ?.focus();
  }

  function askAbort() {
    return confirm({
      title: 'Abort the resend?',
      text: 'What was not sent stays in the error queue. What is on its way is not called back.',
      action: 'Abort',
      kind: 'danger',
      perform: () => steer('abort'),
    });
  }
}

function isOver({ state }) {
  return state === 'DONE' || state === 'ABORTED';
}

/** Nothing of it changes any more: an aborted job still learns what became of the events on their way. */
function isSettled(job) {
  return isOver(job) && (job.state === 'DONE' || job.sent === job.delivered + job.failed);
}

function noteOn({ state, paused_because: because, waiting, delivered, failed, skipped }) {
  if (state === 'PREPARING') return 'Looking for what fits.';
  if (state === 'PAUSED')
    return because === 'operator' ? 'Paused by an operator.' : `Paused, because partners failed: ${because}.`;
  if (state === 'ABORTED') return `Not sent, and still in the error queue: ${waiting}.`;
  if (state === 'RUNNING') return delivered === 0 && failed === 0 ? 'Trying one first.' : 'Sending.';
  return skipped > 0 ? `Settled in another way before their turn: ${skipped}.` : 'All have been sent.';
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
