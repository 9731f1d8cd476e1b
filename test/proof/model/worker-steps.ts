import { EVENT, FLAG, HOLD, ITEM, JOB, LEASE, PROBE, STATE, SUSPECT, TRIGGER } from './delivery-state.js';
import { labelOf, type Step } from './delivery-step.js';
import { record } from './record-steps.js';
import { faultOfClaim, faultOfPut } from './promises.js';

/**
 * Models the steps from the commit of an event to the record of its last attempt (`delivery-statements.ts`,
 * `translation.ts` and `delivery-loop.ts`).
 */
export function workerSteps(step: Step): void {
  const { layout, from } = step;
  for (let n = 0; n < layout.count; n++) commit(step, n);
  for (let w = 0; w < layout.processes; w++) {
    if (!from[layout.isAlive(w)]) continue;
    for (let n = 0; n < layout.count; n++) {
      translate(step, w, n);
      switch (from[layout.hold(w, n)]) {
        case HOLD.NONE:
          claim(step, w, n);
          claimProbe(step, w, n);
          break;
        case HOLD.ASKED:
          claimAsSeen(step, w, n);
          break;
        case HOLD.CLAIMED:
          begin(step, w, n);
          release(step, w, n);
          break;
        case HOLD.UNDER_WAY:
          answer(step, w, n);
          break;
        default:
          record(step, w, n);
      }
    }
  }
}

function isFirstOfEvent(step: Step, n: number): boolean {
  return step.layout.ofEvent(n)[0] === n;
}

/** Commits an event. The events of a booking are committed in their order. */
function commit(step: Step, n: number): void {
  const { layout, from } = step;
  if (from[layout.event(n)] !== EVENT.NONE || !isFirstOfEvent(step, n)) return;
  const { booking, sequence } = layout.subjects[n];
  const before = layout.subjects.findIndex((other) => other.booking === booking && other.sequence === sequence - 1);
  if (before >= 0 && from[layout.event(before)] === EVENT.NONE) return;
  const to = step.copy();
  for (const m of layout.ofEvent(n)) to[layout.event(m)] = EVENT.COMMITTED;
  step.take(labelOf('commit', n));
}

/**
 * Creates the notifications of an event for all partners, and settles the event, in one statement. The earlier events
 * of the booking must be settled first.
 */
function translate(step: Step, w: number, n: number): void {
  const { layout, from } = step;
  if (!isFirstOfEvent(step, n)) return;
  const { booking, sequence } = layout.subjects[n];
  const unsettled = layout.subjects.some(
    (other, m) => other.booking === booking && other.sequence < sequence && from[layout.event(m)] !== EVENT.SETTLED,
  );
  const halves = step.is('translation settles before it makes');
  if (halves && from[layout.event(n)] === EVENT.SETTLED && from[layout.state(n)] === STATE.NONE) {
    // Only the worker that has performed the first half of the translation (ASKED) may perform the second half.
    if (from[layout.hold(w, n)] !== HOLD.ASKED) return;
    const to = step.copy();
    step.letGo(to, w, n);
    make(step, to, layout.ofEvent(n));
    step.take(labelOf('make', n, w));
    return;
  }
  if (from[layout.event(n)] !== EVENT.COMMITTED || unsettled) return;
  const to = step.copy();
  for (const m of layout.ofEvent(n)) to[layout.event(m)] = EVENT.SETTLED;
  if (halves) {
    to[layout.hold(w, n)] = HOLD.ASKED;
    step.take(labelOf('settle', n, w));
    return;
  }
  make(step, to, step.is('translation settles after the first partner') ? [n] : layout.ofEvent(n));
  step.take(labelOf('translate', n, w));
  // A notification that can be sent immediately is claimed when it is created, unless an earlier event of the booking
  // may have to be sent first.
  const atOnce = layout.ofEvent(n).filter((m) => mayBeSent(step, step.partnerOf(m)));
  if (atOnce.length === 0 || (sequence > 1 && !step.is('later events are born claimed'))) return;
  for (const m of atOnce) step.giveLease(to, w, m, 0);
  step.take(labelOf('translate and claim', n, w));
}

function mayBeSent(step: Step, partner: number): boolean {
  return step.isActive(partner) && !step.isDown(partner) && step.isPushed(partner);
}

function make(step: Step, to: Uint8Array, made: readonly number[]): void {
  const { layout } = step;
  for (const m of made) {
    const down = step.isDown(step.partnerOf(m));
    to[layout.state(m)] = down ? STATE.AUTO : STATE.PENDING;
    to[layout.trigger(m)] = down ? TRIGGER.AUTO : TRIGGER.FIRST;
  }
}

function isFreeForClaim(step: Step, n: number): boolean {
  const { layout, from } = step;
  // In this mutation, a worker whose clock is ahead mistakes an old lease for an expired lease.
  const early = step.is('lease is judged by a clock that is ahead') && from[layout.lease(n)] === LEASE.OLD;
  return step.isFree(n) || early;
}

function claim(step: Step, w: number, n: number): void {
  const { layout, from } = step;
  const partner = step.partnerOf(n);
  if (!step.hasRow(n) || !isFreeForClaim(step, n)) return;
  if (!step.isActive(partner) && !step.is('claim ignores a suspension')) return;
  if (!step.isPushed(partner) && !step.is('a worker claims what is polled')) return;
  const ofJob = step.isOfJob(n);
  if (step.isWalled(partner) && !(ofJob && step.is('a job goes past the gate'))) return;
  if (step.isDown(partner) && (ofJob || from[layout.trigger(n)] !== TRIGGER.MANUAL)) return;
  if (!step.isItsTurn(n)) return;
  if (ofJob && from[layout.job] !== JOB.RUNNING && !step.is('abort leaves what was handed over')) return;
  const to = step.copy();
  const flags = step.flagsOfRow(n, ofJob);
  if (step.is('claim goes by what it saw before')) {
    to[layout.hold(w, n)] = HOLD.ASKED;
    to[layout.flags(w, n)] = flags;
    step.take(labelOf('look', n, w));
    return;
  }
  step.giveLease(to, w, n, flags);
  step.take(labelOf('claim', n, w), true, faultOfClaim(step, n));
}

/** Claims a row that an earlier read has found. When the row is locked, only the row itself is checked again. */
function claimAsSeen(step: Step, w: number, n: number): void {
  if (!step.is('claim goes by what it saw before')) return;
  const { layout, from } = step;
  const to = step.copy();
  if (step.hasRow(n) && step.isFree(n)) step.giveLease(to, w, n, from[layout.flags(w, n)]);
  else step.letGo(to, w, n);
  step.take(labelOf('claim', n, w));
}

/**
 * Claims the probe of a DOWN partner: the oldest row that may be sent now, or else the oldest item of the bulk job. The
 * same statement postpones the next probe.
 */
function claimProbe(step: Step, w: number, n: number): void {
  const { layout, from } = step;
  const partner = step.partnerOf(n);
  if (!step.isDown(partner) || from[layout.probe(partner)] !== PROBE.DUE) return;
  if (!step.isActive(partner) && !step.is('probe ignores a suspension')) return;
  if (step.isWalled(partner) && !step.is('a probe ignores the wall')) return;
  const triggers: readonly number[] = step.is('events of a partner that fell are not queued')
    ? [TRIGGER.AUTO]
    : [TRIGGER.FIRST, TRIGGER.AUTO];
  const may = (m: number) =>
    step.partnerOf(m) === partner &&
    step.isOfJob(m) === ofJob &&
    (ofJob || triggers.includes(from[layout.trigger(m)])) &&
    step.isFree(m) &&
    (step.isItsTurn(m) || step.is('probe does not look at the booking'));
  let ofJob = false;
  if (step.isOfJob(n)) {
    if (from[layout.job] !== JOB.RUNNING) return;
    for (let m = 0; m < layout.count; m++) if (may(m)) return;
    ofJob = true;
  }
  if (!may(n)) return;
  // If an event seems to be the only cause of the failures, any other event is preferred as the probe.
  const isSuspect = (m: number) => from[layout.failures(m)] >= SUSPECT;
  for (let m = 0; m < layout.count; m++)
    if (m !== n && may(m) && (isSuspect(m) === isSuspect(n) ? m < n : isSuspect(n))) return;
  const to = step.copy();
  const flags = FLAG.PROBE | FLAG.CLAIMED_DOWN | (ofJob ? step.flagsOfRow(n, true) : 0);
  step.giveLease(to, w, n, flags);
  if (!ofJob) to[layout.trigger(n)] = TRIGGER.AUTO;
  if (!step.is('probe is not held')) to[layout.probe(partner)] = PROBE.HELD + n;
  step.take(labelOf('claim the probe', n, w), true, faultOfClaim(step, n));
}

function begin(step: Step, w: number, n: number): void {
  const { layout, from } = step;
  const partner = step.partnerOf(n);
  // The worker measures the age of its claim from a moment before the request for the claim, so that the measured age
  // is never too low. A claim with a stale token is even older.
  const age = from[layout.token(w, n)] ? from[layout.lease(n)] : LEASE.LAPSED;
  const behind = age === LEASE.OLD && step.is('attempt begins by a clock that is behind');
  if (age !== LEASE.FRESH && !behind && !step.is('attempt begins at any age')) return;
  if (step.isWalled(partner) && !passesWall(step, from[layout.flags(w, n)])) return;
  // A worker that has seen that the partner failed or is busy sends nothing more until this outcome is recorded.
  for (let m = 0; m < layout.count; m++)
    if (step.partnerOf(m) === partner && STOPS.includes(from[layout.hold(w, m)])) return;
  const flags = from[layout.flags(w, n)];
  const to = step.copy();
  to[layout.hold(w, n)] = HOLD.UNDER_WAY;
  if (age !== LEASE.FRESH) to[layout.flags(w, n)] |= FLAG.BEGUN_LATE;
  if (flags & FLAG.OF_JOB && from[layout.item(n)] === ITEM.SENT) to[layout.item(n)] = ITEM.BEGUN;
  step.take(labelOf('begin', n, w), true, faultOfPut(step, n, flags));
}

const STOPS: readonly number[] = [HOLD.DOWN, HOLD.BUSY];

function passesWall(step: Step, flags: number): boolean {
  return (
    ((flags & FLAG.PROBE) !== 0 && step.is('a probe ignores the wall')) ||
    ((flags & FLAG.OF_JOB) !== 0 && step.is('a job goes past the gate'))
  );
}

function answer(step: Step, w: number, n: number): void {
  const { layout, world } = step;
  const ends = (hold: number) => {
    const to = step.copy();
    to[layout.hold(w, n)] = hold;
    if (hold === HOLD.OK) to[layout.accepted(n)] = 1;
  };
  if (world.oneBadEvent && n === 0) {
    ends(HOLD.DOWN);
    step.take(labelOf('answer 500', n, w));
    return;
  }
  if (world.alwaysBusy) {
    ends(HOLD.BUSY);
    step.take(labelOf('answer 429', n, w));
    return;
  }
  ends(HOLD.OK);
  step.take(labelOf('answer 200', n, w));
  if (world.busies) {
    ends(HOLD.BUSY);
    step.take(labelOf('answer 429', n, w), false);
  }
  if (world.outages) {
    ends(HOLD.DOWN);
    step.take(labelOf('answer 500', n, w), false);
  }
  if (world.refusals) {
    ends(HOLD.REFUSED);
    step.take(labelOf('answer 400', n, w), false);
  }
}

function release(step: Step, w: number, n: number): void {
  const { layout, from } = step;
  const to = step.copy();
  const valid = from[layout.token(w, n)] === 1 || step.is('release does not check the token');
  if (valid && step.hasRow(n)) step.free(to, n);
  step.letGo(to, w, n);
  step.take(labelOf('release', n, w));
}
