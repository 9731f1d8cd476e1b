import {
  ENOUGH_GOOD,
  EVENT,
  FLAG,
  HOLD,
  ITEM,
  JOB,
  LEASE,
  STATE,
  SUBSCRIPTION,
  SUSPECT,
  TRIGGER,
  WAY,
  type Layout,
} from './delivery-state.js';
import type { Step } from './delivery-step.js';

/**
 * The promises of delivery, which docs/delivery.md describes in prose. Each promise describes behaviour that partners
 * and operators can observe, and no internal condition of the protocol.
 */

/**
 * Returns the promise that an attempt for notification `n` breaks if it starts in the current state; null if it breaks
 * none.
 */
export function faultOfBeginning(step: Step, n: number, flags: number): string | null {
  const { layout, from } = step;
  const partner = step.partnerOf(n);
  if (step.isUnderWay(n)) return 'one event is sent twice at the same moment';
  for (const m of layout.siblings(n)) {
    if (step.isUnderWay(m)) return 'two events of a booking are under way at the same moment';
    if (flags & (FLAG.BY_OPERATOR | FLAG.OF_REPLAY)) continue;
    if (layout.subjects[m].sequence < layout.subjects[n].sequence && isOutstanding(step, m))
      return 'an event overtakes an earlier one of its booking';
  }
  if (from[layout.subscription(partner)] === SUBSCRIPTION.SUSPENDED)
    return 'an attempt begins after suspend has answered';
  if (from[layout.isBusy(partner)]) return 'a partner is sent something before it wants to be called again';
  if (flags & FLAG.PROBE) {
    for (let m = 0; m < layout.count; m++)
      for (let w = 0; w < layout.workers; w++)
        if (
          step.partnerOf(m) === partner &&
          from[layout.hold(w, m)] === HOLD.UNDER_WAY &&
          from[layout.flags(w, m)] & FLAG.PROBE
        )
          return 'two probes of a partner are under way at the same moment';
  } else if (flags & FLAG.CLAIMED_DOWN && !(flags & FLAG.BY_OPERATOR)) {
    return 'a partner that is DOWN is sent more than a probe';
  }
  if (flags & FLAG.OF_JOB) return faultOfItem(step, n);
  if (flags & (FLAG.BY_OPERATOR | FLAG.OF_REPLAY)) return null;
  if (from[layout.accepted(n)] && !from[layout.mayRepeat(n)]) return 'an event is sent again after its 200';
  return null;
}

/** Returns the promise that the start of a request to the partner breaks; null if it breaks none. */
export function faultOfPut(step: Step, n: number, flags: number): string | null {
  if (step.from[step.layout.way(step.partnerOf(n))] === WAY.POLL) return 'a partner that polls is sent a request';
  return faultOfBeginning(step, n, flags);
}

/**
 * Returns the promise that is broken if an acknowledgement or a refusal of notification `n` is accepted; null if no
 * promise is broken.
 */
export function faultOfSettling({ layout, from }: Step, n: number): string | null {
  return from[layout.lease(n)] === LEASE.LAPSED ? 'an acknowledgement counts after its lease' : null;
}

/**
 * Returns whether notification `n` still has to be delivered. Returns false if the notification is delivered, waits for
 * an operator, or is being resent by an operator.
 */
function isOutstanding({ layout, from }: Step, n: number): boolean {
  if (from[layout.accepted(n)] || from[layout.event(n)] === EVENT.NONE) return false;
  const [state, trigger] = [from[layout.state(n)], from[layout.trigger(n)]];
  if (state === STATE.DELIVERED || state === STATE.MANUAL || state === STATE.RESOLVED) return false;
  return trigger !== TRIGGER.MANUAL && trigger !== TRIGGER.REPLAY;
}

function faultOfItem({ layout, from }: Step, n: number): string | null {
  const job = from[layout.job];
  if (job === JOB.PAUSED || job === JOB.ABORTED) return 'a job sends after its pause or abort was obeyed';
  const item = from[layout.item(n)];
  if (item === ITEM.SENT || (item === ITEM.BEGUN && from[layout.mayRepeat(n)])) return null;
  return 'a job sends an item that it does not count, or sends it twice';
}

/** Returns the promise that a claim of notification `n` breaks; null if it breaks none. */
export function faultOfClaim({ layout, from }: Step, n: number): string | null {
  if (from[layout.trigger(n)] !== TRIGGER.REPLAY) return null;
  for (const m of layout.siblings(n)) {
    const other = from[layout.trigger(m)];
    if (other !== TRIGGER.NONE && other !== TRIGGER.REPLAY) return 'a replay goes before what is due';
    if (other === TRIGGER.REPLAY && layout.subjects[m].sequence < layout.subjects[n].sequence)
      return 'a replay changes the order';
  }
  return null;
}

/** Returns the promise that is broken when notification `n` turns its partner DOWN; null if none is broken. */
export function faultOfFalling({ layout, from }: Step, n: number): string | null {
  return from[layout.failures(n)] > SUSPECT ? 'one event holds up a partner that takes the others' : null;
}

/** Returns the promise of delivery that the state itself breaks; null if it breaks none. */
export function faultOfState(layout: Layout, state: Uint8Array): string | null {
  for (let partner = 0; partner < layout.partners; partner++)
    if (state[layout.isSlowed(partner)] && state[layout.good(partner)] >= ENOUGH_GOOD)
      return 'a partner answers well and is sent no more than before';
  for (let n = 0; n < layout.count; n++) {
    for (let c = layout.processes; c < layout.workers; c++)
      if (state[layout.hold(c, n)] === HOLD.LATE && !state[layout.token(c, n)])
        return 'the expired lease of a caller leaves no attempt';
    const its = state[layout.state(n)];
    const owed = state[layout.trigger(n)] !== TRIGGER.NONE;
    if (state[layout.event(n)] === EVENT.SETTLED && its === STATE.NONE && !isBeingMade(layout, state, n))
      return 'an event is settled and a partner will not be told';
    if ((its === STATE.PENDING || its === STATE.AUTO) && !owed) return 'an event waits and nobody will send it';
    if (its === STATE.DELIVERED && !state[layout.accepted(n)]) return 'an event counts as delivered without a 200';
  }
  return null;
}

function isBeingMade(layout: Layout, state: Uint8Array, n: number): boolean {
  for (let w = 0; w < layout.workers; w++) if (state[layout.hold(w, layout.ofEvent(n)[0])] === HOLD.ASKED) return true;
  return false;
}

/**
 * Returns whether every committed event of an active partner is delivered or waits for an operator, and whether
 * operators' requests are fulfilled. The search checks that from every state, such a state is possible without an
 * operator. No notification can therefore get stuck.
 */
export function isSettled(layout: Layout, state: Uint8Array, oneBadEvent = false): boolean {
  const job = state[layout.job];
  if (job === JOB.STOPPING || job === JOB.ENDING) return false;
  for (let n = 0; n < layout.count; n++) {
    const subscription = state[layout.subscription(layout.subjects[n].partner)];
    const isTurning = state[layout.way(layout.subjects[n].partner)] === WAY.TURNING;
    if (subscription === SUBSCRIPTION.SUSPENDING || isTurning) return false;
    if (state[layout.event(n)] === EVENT.NONE) continue;
    if (state[layout.event(n)] === EVENT.COMMITTED) return false;
    if (subscription === SUBSCRIPTION.SUSPENDED) continue;
    const its = state[layout.state(n)];
    // This notification is the only probe of its partner. The service retries it until it gives the notification up.
    if (oneBadEvent && n === 0 && its === STATE.AUTO) continue;
    if (state[layout.trigger(n)] !== TRIGGER.NONE || its === STATE.PENDING || its === STATE.AUTO) return false;
    const item = state[layout.item(n)];
    if (job === JOB.RUNNING && item !== ITEM.NONE && item !== ITEM.ENDED) return false;
  }
  return true;
}
