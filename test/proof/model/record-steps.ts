import {
  ENOUGH_GOOD,
  FLAG,
  HOLD,
  ITEM,
  ONLY_BUSY,
  PROBE,
  ROW_OF_JOB,
  STATE,
  SUSPECT,
  TRIGGER,
} from './delivery-state.js';
import { labelOf, type Step } from './delivery-step.js';
import { faultOfFalling } from './promises.js';

/**
 * Returns whether notification `n` is the latest probe of its partner. After the lease of an earlier probe has expired,
 * a second worker may have claimed another probe.
 */
function isLatestProbe(step: Step, partner: number, n: number): boolean {
  const { layout, from } = step;
  return from[layout.probe(partner)] === PROBE.HELD + n || step.is('a late probe moves the next');
}

/** Records the outcome of an attempt. Every write checks the fencing token, and a stale token changes nothing. */
export function record(step: Step, w: number, n: number): void {
  const { layout, from } = step;
  const [hold, flags, partner] = [from[layout.hold(w, n)], from[layout.flags(w, n)], step.partnerOf(n)];
  if (step.is('release comes before the record') && from[layout.token(w, n)] === 1) {
    const to = step.copy();
    step.free(to, n);
    step.take(labelOf('release', n, w));
    return;
  }
  const to = step.copy();
  step.letGo(to, w, n);
  const valid = from[layout.token(w, n)] === 1 || step.is('record does not check the token');
  if (!valid || !step.hasRow(n)) {
    step.take(labelOf('record', n, w));
    return;
  }
  // If an operator requested a resend during the attempt, and the attempt failed, the request stays pending.
  const askedFor = from[layout.trigger(n)] === TRIGGER.MANUAL && !(flags & FLAG.BY_OPERATOR);
  const replay = from[layout.trigger(n)] === TRIGGER.REPLAY;
  if (from[layout.item(n)] === ITEM.BEGUN) to[layout.item(n)] = ITEM.ENDED;
  let fault: string | null = null;
  if (hold === HOLD.OK) {
    answeredWell(step, to, n);
    step.endRow(to, n, STATE.DELIVERED);
    if (from[layout.waited(n)] & ROW_OF_JOB) to[layout.jobSuccess(partner)] = 1;
    if (flags & FLAG.CLAIMED_DOWN && step.isDown(partner)) {
      to[layout.isDown(partner)] = 0;
      to[layout.probe(partner)] = PROBE.DUE;
    }
  } else if (hold === HOLD.BUSY) {
    isBusy(step, to, n);
  } else if (replay) {
    step.endRow(to, n, STATE.DELIVERED);
  } else if (askedFor) {
    step.free(to, n);
  } else if (hold === HOLD.DOWN && step.world.blames && from[layout.failures(n)] >= SUSPECT && !step.isDown(partner)) {
    if (step.is('the one event is never blamed')) {
      step.free(to, n);
      to[layout.trigger(n)] = TRIGGER.AUTO;
      to[layout.state(n)] = STATE.AUTO;
      to[layout.isDown(partner)] = 1;
      to[layout.probe(partner)] = PROBE.WAITING;
      fault = faultOfFalling(step, n);
    } else step.endRow(to, n, STATE.MANUAL);
    step.take(labelOf('record', n, w), true, fault);
    return;
  } else if (hold === HOLD.DOWN && !step.is('a failure that is retried ends the obligation')) {
    step.free(to, n);
    to[layout.trigger(n)] = TRIGGER.AUTO;
    to[layout.state(n)] = STATE.AUTO;
    // A notification that an operator resends may arrive twice, because the operator requested it regardless of earlier
    // deliveries.
    if (step.isOfJob(n)) to[layout.mayRepeat(n)] = 1;
    to[layout.waited(n)] &= ~ROW_OF_JOB;
    if (step.world.blames)
      to[layout.failures(n)] = Math.max(from[layout.failures(n)], Math.min(SUSPECT, from[layout.failures(n)] + 1));
  } else {
    step.endRow(to, n, hold === HOLD.DOWN ? STATE.AUTO : STATE.MANUAL);
  }
  if (hold === HOLD.DOWN && !step.isDown(partner) && step.isPushed(partner)) {
    to[layout.isDown(partner)] = 1;
    to[layout.probe(partner)] = PROBE.WAITING;
    fault = faultOfFalling(step, n);
  } else if (hold !== HOLD.OK && flags & FLAG.PROBE && step.isDown(partner) && isLatestProbe(step, partner, n)) {
    const isLast = hold === HOLD.REFUSED && step.is('a refused probe is the last');
    to[layout.probe(partner)] = isLast ? PROBE.NEVER : PROBE.WAITING;
  }
  step.take(labelOf('record', n, w), true, fault);
}

/**
 * Applies a successful response. The response ends the time for which the partner answered only "busy", and lets the
 * service send faster again. If other events fail repeatedly, the response also shows that the partner is not the
 * cause.
 */
function answeredWell(step: Step, to: Uint8Array, n: number): void {
  const { layout, from } = step;
  const partner = step.partnerOf(n);
  if (step.is('an accepted event does not end the busy time')) to[layout.busyFor(partner)] &= ONLY_BUSY | 3;
  else to[layout.busyFor(partner)] = 0;
  if (from[layout.isSlowed(partner)]) {
    to[layout.good(partner)] = Math.min(ENOUGH_GOOD, from[layout.good(partner)] + 1);
    if (to[layout.good(partner)] === ENOUGH_GOOD && !step.is('a pace never grows again')) {
      to[layout.isSlowed(partner)] = 0;
      to[layout.good(partner)] = 0;
    }
  }
  for (let m = 0; m < layout.count; m++)
    if (m !== n && step.partnerOf(m) === partner && from[layout.failures(m)] === SUSPECT)
      to[layout.failures(m)] = SUSPECT + 1;
}

/** Applies a "busy" response: after the pause, the service sends the same notification again. */
function isBusy(step: Step, to: Uint8Array, n: number): void {
  const { layout, from } = step;
  const partner = step.partnerOf(n);
  step.free(to, n);
  if (!step.isOfJob(n) && from[layout.trigger(n)] !== TRIGGER.REPLAY) {
    to[layout.trigger(n)] = TRIGGER.AUTO;
    to[layout.state(n)] = STATE.AUTO;
  } else if (from[layout.item(n)] === ITEM.BEGUN) to[layout.item(n)] = ITEM.SENT;
  to[layout.isBusy(partner)] = 1;
  if (step.world.givesUp) to[layout.busyFor(partner)] |= ONLY_BUSY;
  to[layout.wall(partner)] = step.is('a wall lies in the past') ? 0 : 1;
  to[layout.isSlowed(partner)] = 1;
  to[layout.good(partner)] = 0;
}
