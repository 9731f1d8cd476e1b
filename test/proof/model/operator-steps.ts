import { EVENT, ITEM, JOB, PROBE, ROW_OF_JOB, STATE, SUBSCRIPTION, TRIGGER } from './delivery-state.js';
import { labelOf, type Step } from './delivery-step.js';

/** Models the actions of operators on single events and on subscriptions. */
export function operatorSteps(step: Step): void {
  const { layout, from, world } = step;
  for (let n = 0; n < layout.count; n++) {
    if (world.resends) resend(step, n);
    const free = step.isFree(n) || step.is('resolve takes what is under way');
    if (world.resolves && step.isQueued(n) && free) {
      const to = step.copy();
      step.endRow(to, n, STATE.RESOLVED);
      step.take(labelOf('resolve', n), false);
    }
    if (world.replays) replay(step, n);
  }
  for (let partner = 0; partner < (world.suspends ?? 0); partner++) suspend(step, partner);
  if (world.jobs && from[layout.job] !== JOB.DONE) jobSteps(step);
}

function resend(step: Step, n: number): void {
  const { layout } = step;
  if (!step.isQueued(n) || !step.isActive(step.partnerOf(n))) return;
  const to = step.copy();
  to[layout.state(n)] = STATE.PENDING;
  to[layout.trigger(n)] = TRIGGER.MANUAL;
  to[layout.mayRepeat(n)] = 1;
  // A running automatic retry continues. If the retry does not deliver the event, the event is sent again.
  if (step.isFree(n) || step.is('resend takes what is under way')) step.free(to, n);
  step.take(labelOf('resend', n), false);
}

/** Sends the delivered events of the booking to the partner again. */
function replay(step: Step, n: number): void {
  const { layout, from } = step;
  const chosen = [n, ...layout.siblings(n)].filter(
    (m) => from[layout.state(m)] === STATE.DELIVERED && from[layout.trigger(m)] === TRIGGER.NONE,
  );
  if (chosen.length === 0 || Math.min(...chosen) !== n) return;
  const to = step.copy();
  for (const m of chosen) {
    to[layout.trigger(m)] = TRIGGER.REPLAY;
    to[layout.mayRepeat(m)] = 1;
  }
  step.take(labelOf('replay', n), false);
}

function suspend(step: Step, partner: number): void {
  const { layout, from } = step;
  const at = layout.subscription(partner);
  if (from[at] === SUBSCRIPTION.ACTIVE) {
    step.copy()[at] = SUBSCRIPTION.SUSPENDING;
    step.take(labelOf('suspend', partner), false);
    return;
  }
  step.copy()[at] = SUBSCRIPTION.ACTIVE;
  step.take(labelOf('resume', partner), false);
  if (from[at] === SUBSCRIPTION.SUSPENDED) return;
  if (step.mayBegin((n) => step.partnerOf(n) === partner) && !step.is('suspend answers at once')) return;
  step.copy()[at] = SUBSCRIPTION.SUSPENDED;
  step.take(labelOf('suspend answers', partner));
}

/** Emits the steps of one bulk job. */
function jobSteps(step: Step): void {
  const { layout, from } = step;
  const state = from[layout.job];
  const all = [...Array(layout.count).keys()];
  const goTo = (next: number, ...rest: Parameters<Step['take']>) => {
    const to = step.copy();
    to[layout.job] = next;
    if (next === JOB.RUNNING)
      for (let partner = 0; partner < layout.partners; partner++) to[layout.jobSuccess(partner)] = 0;
    step.take(...rest);
  };
  if (state === JOB.NONE) {
    const queued = all.filter((n) => step.isQueued(n));
    if (queued.length === 0) return;
    const to = step.copy();
    to[layout.job] = JOB.RUNNING;
    for (const n of queued) to[layout.item(n)] = ITEM.WAITING;
    step.take(labelOf('job is made'), false);
    return;
  }
  if (state === JOB.RUNNING) {
    for (const n of all) handOver(step, n);
    const isOver = all.every((n) => from[layout.item(n)] === ITEM.NONE || from[layout.item(n)] === ITEM.ENDED);
    if (isOver) goTo(JOB.DONE, labelOf('job ends'));
    goTo(JOB.STOPPING, labelOf('pause'), false);
  } else {
    for (const n of all) withdraw(step, n);
    const mayBegin = step.mayBegin((n) => step.isOfJob(n));
    const obeyed = !mayBegin || step.is('abort is obeyed at once');
    if (state === JOB.STOPPING && obeyed) goTo(JOB.PAUSED, labelOf('pause is obeyed'));
    if (state === JOB.ENDING && obeyed) goTo(JOB.ABORTED, labelOf('abort is obeyed'));
    if (state === JOB.PAUSED) goTo(JOB.RUNNING, labelOf('continue'), false);
  }
  if (state === JOB.RUNNING || state === JOB.PAUSED) goTo(JOB.ENDING, labelOf('abort'), false);
}

/**
 * Makes the job's notifications due. Each partner first gets its oldest notification, and gets only one notification at
 * a time until the first success. A partner that is unavailable does not delay other partners.
 */
function handOver(step: Step, n: number): void {
  const { layout, from } = step;
  if (step.is('an item is marked after it is handed over')) {
    const unmarked = from[layout.item(n)] === ITEM.WAITING && step.isOfJob(n);
    if (unmarked) {
      step.copy()[layout.item(n)] = ITEM.SENT;
      step.take(labelOf('job marks', n));
      return;
    }
  }
  if (from[layout.item(n)] !== ITEM.WAITING || from[layout.event(n)] !== EVENT.SETTLED) return;
  const partner = step.partnerOf(n);
  for (let m = 0; m < layout.count; m++) {
    const isHeldUpBy = step.partnerOf(m) === partner || step.is('a partner that waits holds up the job');
    const item = from[layout.item(m)];
    if (m < n && isHeldUpBy && item === ITEM.WAITING) return;
    const onTheWay = step.partnerOf(m) === partner && (item === ITEM.SENT || item === ITEM.BEGUN);
    if (onTheWay && !from[layout.jobSuccess(partner)]) return;
  }
  const to = step.copy();
  if (!step.isQueued(n)) {
    to[layout.item(n)] = ITEM.ENDED;
    step.take(labelOf('job skips', n));
    return;
  }
  if (!step.isActive(partner) || !step.isFree(n)) return;
  if (step.isDown(partner) && !mayProbe(step, partner)) return;
  step.free(to, n);
  to[layout.state(n)] = STATE.PENDING;
  to[layout.trigger(n)] = TRIGGER.MANUAL;
  to[layout.waited(n)] = ROW_OF_JOB;
  to[layout.mayRepeat(n)] = 0;
  if (!step.is('an item is marked after it is handed over')) to[layout.item(n)] = ITEM.SENT;
  step.take(labelOf('job hands over', n));
}

/**
 * Returns whether the job must provide the probe of a DOWN partner, because no other notification is left for the
 * partner.
 */
function mayProbe(step: Step, partner: number): boolean {
  if (step.is('no item of a job is a probe') || step.from[step.layout.probe(partner)] !== PROBE.DUE) return false;
  for (let n = 0; n < step.layout.count; n++) if (step.partnerOf(n) === partner && step.hasRow(n)) return false;
  return true;
}

/** Withdraws the job's due notifications whose attempts have not started. */
function withdraw(step: Step, n: number): void {
  const { layout, from } = step;
  if (!step.isOfJob(n) || !step.isFree(n) || !step.hasRow(n)) return;
  if (step.is('abort leaves what was handed over')) return;
  const paused = from[layout.job] === JOB.STOPPING || from[layout.job] === JOB.PAUSED;
  const to = step.copy();
  step.endRow(to, n, STATE.MANUAL);
  to[layout.item(n)] = paused && from[layout.item(n)] !== ITEM.BEGUN ? ITEM.WAITING : ITEM.ENDED;
  step.take(labelOf('withdraw', n));
}
