import { FLAG, HOLD, LEASE, STATE, TRIGGER, WAY } from './delivery-state.js';
import { labelOf, type Step } from './delivery-step.js';
import { faultOfBeginning, faultOfClaim, faultOfSettling } from './promises.js';

/**
 * Models the steps of partners that poll (`poll-offers.ts` and `poll-statements.ts`). A caller that polls can hold a
 * notification, as a worker can. The caller's lease and attempt begin at the same time, because the response to the
 * poll contains the notification.
 */
export function pollSteps(step: Step): void {
  const { layout, from } = step;
  for (let c = layout.processes; c < layout.workers; c++)
    for (let n = 0; n < layout.count; n++)
      switch (from[layout.hold(c, n)]) {
        case HOLD.NONE:
          poll(step, c, n);
          break;
        case HOLD.UNDER_WAY:
          answer(step, c, n);
          disconnect(step, c, n);
          break;
        case HOLD.LATE:
          recordLapse(step, c, n);
          break;
        default:
          settle(step, c, n);
          recordLapseBefore(step, c, n);
      }
}

/** Leases a row to a caller, under the same conditions as a claim by a worker. */
function poll(step: Step, c: number, n: number): void {
  const { layout, from } = step;
  const partner = step.partnerOf(n);
  if (from[layout.way(partner)] === WAY.PUSH || !step.isActive(partner) || !step.hasRow(n)) return;
  if (!step.isFree(n) && !step.is('a poll takes what is leased')) return;
  if (!step.isItsTurn(n) && !step.is('a poll does not look at the booking')) return;
  const to = step.copy();
  const flags = step.flagsOfRow(n, step.isOfJob(n));
  step.giveLease(to, c, n, flags);
  to[layout.hold(c, n)] = HOLD.UNDER_WAY;
  step.take(labelOf('poll', n, c), true, faultOfClaim(step, n) ?? faultOfBeginning(step, n, flags));
}

/**
 * Sends an acknowledgement, or a refusal, with the caller's next poll. The lease may expire before the call arrives.
 */
function answer(step: Step, c: number, n: number): void {
  const { layout, world } = step;
  const to = step.copy();
  to[layout.hold(c, n)] = HOLD.OK;
  to[layout.accepted(n)] = 1;
  step.take(labelOf('acknowledge', n, c));
  if (!world.refusals) return;
  step.copy()[layout.hold(c, n)] = HOLD.REFUSED;
  step.take(labelOf('refuse', n, c), false);
}

/** Gives up the lease of a caller that disconnects. */
function disconnect(step: Step, c: number, n: number): void {
  const { layout, from } = step;
  const to = step.copy();
  if (from[layout.token(c, n)]) step.free(to, n);
  step.letGo(to, c, n);
  step.take(labelOf('disconnect', n, c), false);
}

/** Records an acknowledgement or a refusal, which counts only if the caller has a valid lease. */
function settle(step: Step, c: number, n: number): void {
  const { layout, from } = step;
  const isCurrent = from[layout.token(c, n)] === 1;
  const isInTime = from[layout.lease(n)] !== LEASE.LAPSED;
  const to = step.copy();
  step.letGo(to, c, n);
  const counts =
    (isCurrent || step.is('an acknowledgement does not check the token')) &&
    (isInTime || step.is('an acknowledgement does not check the time'));
  if (counts && step.hasRow(n)) {
    const failed = from[layout.hold(c, n)] === HOLD.REFUSED && from[layout.trigger(n)] !== TRIGGER.REPLAY;
    step.endRow(to, n, failed ? STATE.MANUAL : STATE.DELIVERED);
  } else if (isCurrent) {
    to[layout.hold(c, n)] = HOLD.LATE;
    to[layout.token(c, n)] = 1;
    to[layout.flags(c, n)] = from[layout.flags(c, n)];
  }
  step.take(labelOf('settle', n, c), true, counts ? faultOfSettling(step, n) : null);
}

/** Records an expired lease as a failed attempt. */
function recordLapse(step: Step, c: number, n: number): void {
  const to = step.copy();
  failAfterLapse(step, to, c, n);
  step.letGo(to, c, n);
  step.take(labelOf('lapse is recorded', n, c));
}

/**
 * Records the expiry of a lease before the acknowledgement or the refusal arrives. An acknowledgement or a refusal that
 * arrives later does not count.
 */
function recordLapseBefore(step: Step, c: number, n: number): void {
  const { layout, from } = step;
  if (from[layout.lease(n)] !== LEASE.LAPSED || !from[layout.token(c, n)]) return;
  const to = step.copy();
  failAfterLapse(step, to, c, n);
  to[layout.token(c, n)] = 0;
  step.take(labelOf('lapse is recorded', n, c));
}

/** Changes the row after the attempt of a caller has failed because its lease expired. */
function failAfterLapse(step: Step, to: Uint8Array, c: number, n: number): void {
  const { layout, from } = step;
  if (!from[layout.token(c, n)] || !step.hasRow(n)) return;
  const asked = from[layout.trigger(n)] === TRIGGER.MANUAL && !(from[layout.flags(c, n)] & FLAG.BY_OPERATOR);
  if (step.is('a lapse ends the obligation')) step.endRow(to, n, STATE.AUTO);
  else if (from[layout.trigger(n)] === TRIGGER.REPLAY) step.endRow(to, n, STATE.DELIVERED);
  else {
    step.free(to, n);
    if (asked) return;
    to[layout.trigger(n)] = TRIGGER.AUTO;
    to[layout.state(n)] = STATE.AUTO;
  }
}

/** Emits the steps of operators that change partners between PUSH and POLL. */
export function turnSteps(step: Step): void {
  const { layout, from } = step;
  for (let partner = 0; partner < layout.partners; partner++) {
    const at = layout.way(partner);
    const way = from[at];
    const to = step.copy();
    to[at] = way === WAY.PUSH ? WAY.TURNING : WAY.PUSH;
    for (const condition of layout.conditionOf(partner)) to[condition] = 0;
    if (step.is('a change of the way ends the leases'))
      for (let n = 0; n < layout.count; n++) if (step.partnerOf(n) === partner) step.free(to, n);
    step.take(labelOf(way === WAY.PUSH ? 'turn to POLL' : 'turn to PUSH', partner), false);
    if (way !== WAY.TURNING) continue;
    if (step.mayBegin((n) => step.partnerOf(n) === partner) && !step.is('a change to POLL answers at once')) continue;
    step.copy()[at] = WAY.POLL;
    step.take(labelOf('turn answers', partner));
  }
}
