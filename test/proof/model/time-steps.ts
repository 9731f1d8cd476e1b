import { FLAG, HOLD, LEASE, ONLY_BUSY, PROBE, STATE, TRIGGER } from './delivery-state.js';
import { labelOf, type Step } from './delivery-step.js';

/** Models the steps that happen without an operator: passing time, crashes, and the upkeep of the queue. */
export function timeSteps(step: Step): void {
  const { layout, from, world } = step;
  for (let n = 0; n < layout.count; n++) {
    const partner = step.partnerOf(n);
    const lease = from[layout.lease(n)];
    if (lease === LEASE.FRESH) {
      step.copy()[layout.lease(n)] = LEASE.OLD;
      step.take(labelOf('time passes', n));
    } else if (lease === LEASE.OLD && mayLapse(step, n)) {
      const to = step.copy();
      to[layout.lease(n)] = LEASE.LAPSED;
      to[layout.mayRepeat(n)] = 1;
      // The attempt of a caller that polls ends with its lease.
      for (let c = layout.processes; c < layout.workers; c++)
        if (from[layout.hold(c, n)] === HOLD.UNDER_WAY && from[layout.token(c, n)]) to[layout.hold(c, n)] = HOLD.LATE;
      step.take(labelOf('lapse', n));
    }
    if (from[layout.orphan(n)]) {
      step.copy()[layout.orphan(n)] = 0;
      step.take(labelOf('orphan ends', n));
      const to = step.copy();
      to[layout.orphan(n)] = 0;
      to[layout.accepted(n)] = 1;
      step.take(labelOf('orphan is accepted', n));
    }
    const isFirst = from[layout.trigger(n)] === TRIGGER.FIRST && step.isFree(n);
    if (isFirst && step.isDown(partner) && !step.is('events of a partner that fell are not queued')) {
      const to = step.copy();
      to[layout.trigger(n)] = TRIGGER.AUTO;
      to[layout.state(n)] = STATE.AUTO;
      step.take(labelOf('queue as AUTO', n));
    }
    if (world.givesUp) giveUp(step, n);
  }
  for (let partner = 0; partner < layout.partners; partner++) {
    probeDue(step, partner);
    staysBusy(step, partner);
  }
  for (let w = 0; w < layout.processes; w++) if (world.kills) crash(step, w);
}

/** Returns whether the lease may expire. A lease cannot expire while a request that started in time is running. */
function mayLapse(step: Step, n: number): boolean {
  const { layout, from } = step;
  if (step.is('lease does not lapse')) return false;
  if (step.is('attempt is not bounded by the wait time')) return true;
  if (from[layout.orphan(n)]) return false;
  for (let w = 0; w < layout.processes; w++) {
    const inTime = !(from[layout.flags(w, n)] & FLAG.BEGUN_LATE);
    if (from[layout.hold(w, n)] === HOLD.UNDER_WAY && from[layout.token(w, n)] && inTime) return false;
  }
  return true;
}

function probeDue(step: Step, partner: number): void {
  const { layout, from, world } = step;
  const probe = from[layout.probe(partner)];
  const held = probe >= PROBE.HELD && probe !== PROBE.NEVER;
  const ended = held && step.isFree(probe - PROBE.HELD) && !step.is('probe is held for ever');
  if (step.isDown(partner) && (probe === PROBE.WAITING || ended)) {
    step.copy()[layout.probe(partner)] = PROBE.DUE;
    step.take(labelOf('probe is due', partner));
  }
  if (from[layout.isBusy(partner)]) {
    const over = step.copy();
    over[layout.isBusy(partner)] = 0;
    over[layout.wall(partner)] = 0;
    step.take(labelOf('wall is over', partner));
  }
  if (!world.others) return;
  const to = step.copy();
  to[layout.isDown(partner)] = step.isDown(partner) ? 0 : 1;
  to[layout.probe(partner)] = step.isDown(partner) ? PROBE.DUE : PROBE.WAITING;
  step.take(labelOf(step.isDown(partner) ? 'others succeed' : 'others fail', partner), step.isDown(partner));
}

/** Kills a process (kill -9). Its memory is lost, while its leases and its running attempts remain. */
function crash(step: Step, w: number): void {
  const { layout, from } = step;
  const to = step.copy();
  if (!from[layout.isAlive(w)]) {
    to[layout.isAlive(w)] = 1;
    step.take(labelOf('start', 0, w));
    return;
  }
  to[layout.isAlive(w)] = 0;
  for (let n = 0; n < layout.count; n++) {
    const hold = from[layout.hold(w, n)];
    if (hold === HOLD.UNDER_WAY) to[layout.orphan(n)] = 1;
    if ((hold >= HOLD.UNDER_WAY && hold <= HOLD.REFUSED) || hold === HOLD.BUSY) to[layout.mayRepeat(n)] = 1;
    step.letGo(to, w, n);
  }
  step.take(labelOf('kill', 0, w), false);
}

const LONG = 2;

/**
 * Returns a waiting time, increased by one unit. It consists of two counters: the counter of the protocol, and the
 * counter of real time.
 */
function longer(step: Step, waited: number, active: boolean): number {
  const [counted, counts] = [waited & 3, (waited >> 2) & 3];
  const more = active || step.is('suspended time counts towards giving up') ? Math.min(LONG, counted + 1) : counted;
  return (waited & ~15) | more | (Math.min(LONG, counts + (active ? 1 : 0)) << 2);
}

/** Counts the time for which a partner has accepted nothing because it was busy. */
function staysBusy(step: Step, partner: number): void {
  const { layout, from } = step;
  const busyFor = from[layout.busyFor(partner)];
  if (!(busyFor & ONLY_BUSY)) return;
  step.copy()[layout.busyFor(partner)] = longer(step, busyFor, step.isActive(partner));
  step.take(labelOf('stays busy', partner));
}

/**
 * Gives up an automatic retry after two units of time, if the partner was DOWN or answered only "busy" for that time.
 * An unsent event that waits because of a busy response is given up, too.
 */
function giveUp(step: Step, n: number): void {
  const { layout, from, world } = step;
  const partner = step.partnerOf(n);
  const isUnsent = from[layout.trigger(n)] === TRIGGER.FIRST;
  if (from[layout.state(n)] !== STATE.AUTO && !(isUnsent && (world.busies || world.alwaysBusy))) return;
  const active = step.isActive(partner);
  const waited = from[layout.waited(n)];
  const [counted, counts] = [waited & 3, (waited >> 2) & 3];
  if (counts < LONG || counted < LONG) {
    step.copy()[layout.waited(n)] = longer(step, waited, active);
    step.take(labelOf('wait', n));
  }
  const busyFor = from[layout.busyFor(partner)];
  const wasBusy = !step.isDown(partner) && (busyFor & 3) >= LONG && !step.is('a busy partner is never given up');
  const isOld = counted >= LONG || (wasBusy && step.is('all events of a busy partner are given up at once'));
  const takesAll = step.is('giving up takes what is under way');
  if (!isOld || !active || !(step.isFree(n) || takesAll)) return;
  if (!wasBusy && (!step.isDown(partner) || from[layout.trigger(n)] !== TRIGGER.AUTO)) return;
  if (wasBusy && !isUnsent && from[layout.trigger(n)] !== TRIGGER.AUTO) return;
  const to = step.copy();
  step.endRow(to, n, STATE.MANUAL);
  const early = counts < LONG ? 'an event is given up before its time' : null;
  const accepts = wasBusy && ((busyFor >> 2) & 3) < LONG ? 'events of a partner that accepts some are given up' : null;
  step.take(labelOf('give up', n), world.alwaysBusy === true, early ?? accepts);
}
