import { FLAG, HOLD, LEASE, ROW_OF_JOB, STATE, SUBSCRIPTION, TRIGGER, WAY, type Layout } from './delivery-state.js';
import type { Mutation } from './mutations.js';
import type { Emit } from './state-search.js';

/** The actions of the environment that can happen in a configuration. An omitted action does not happen. */
export interface World {
  readonly kills?: boolean;
  /** Whether the partner of the model may answer 500. */
  readonly outages?: boolean;
  /** Whether the partner can send responses after which an operator must act. */
  readonly refusals?: boolean;
  /** Whether the partner can answer that it is busy. */
  readonly busies?: boolean;
  /** Whether all responses of the partner are "busy". */
  readonly alwaysBusy?: boolean;
  /** Whether the partner always answers the first event with 500, and no other event. */
  readonly oneBadEvent?: boolean;
  /** Whether the service leaves an event to an operator if it repeatedly gets 500 while other events succeed. */
  readonly blames?: boolean;
  /** The number of partners that can be suspended. They are the first partners of the configuration. */
  readonly suspends?: number;
  readonly resends?: boolean;
  readonly resolves?: boolean;
  readonly givesUp?: boolean;
  readonly jobs?: boolean;
  readonly replays?: boolean;
  /** Whether all partners poll from the beginning. */
  readonly polls?: boolean;
  /** Whether operators change partners between PUSH and POLL. */
  readonly turns?: boolean;
  /** Whether other bookings of the partner, which are not modelled, can turn the partner DOWN and UP. */
  readonly others?: boolean;
}

/** The names of the model's steps. A step is identified by its name, its worker and its notification. */
const STEPS = [
  'commit',
  'translate',
  'translate and claim',
  'settle',
  'make',
  'claim',
  'look',
  'claim the probe',
  'begin',
  'answer 200',
  'answer 500',
  'answer 400',
  'answer 429',
  'record',
  'release',
  'kill',
  'start',
  'time passes',
  'lapse',
  'orphan ends',
  'orphan is accepted',
  'probe is due',
  'wall is over',
  'stays busy',
  'queue as AUTO',
  'wait',
  'give up',
  'suspend',
  'suspend answers',
  'resume',
  'resend',
  'resolve',
  'replay',
  'job is made',
  'job hands over',
  'job marks',
  'job skips',
  'job ends',
  'pause',
  'abort',
  'withdraw',
  'pause is obeyed',
  'abort is obeyed',
  'continue',
  'others fail',
  'others succeed',
  'poll',
  'acknowledge',
  'refuse',
  'disconnect',
  'settle',
  'lapse is recorded',
  'turn to POLL',
  'turn to PUSH',
  'turn answers',
] as const;
export type StepName = (typeof STEPS)[number];
const NUMBERS = new Map(STEPS.map((name, number) => [name, number]));

export function labelOf(name: StepName, n = 0, w = 0): number {
  return (NUMBERS.get(name)! << 8) | (w << 4) | n;
}

export interface ReadLabel {
  readonly name: StepName;
  readonly n: number;
  readonly w: number;
}

export function readLabel(label: number): ReadLabel {
  return { name: STEPS[label >> 8], n: label & 15, w: (label >> 4) & 15 };
}

/** A state of the model, with functions that read its properties and emit the steps that lead out of it. */
export class Step {
  from!: Uint8Array;
  private emit!: Emit;
  private readonly to: Uint8Array;

  constructor(
    readonly layout: Layout,
    readonly world: World,
    private readonly mutation: Mutation | null,
  ) {
    this.to = new Uint8Array(layout.size);
  }

  leave(from: Uint8Array, emit: Emit): void {
    this.from = from;
    this.emit = emit;
  }

  is(mutation: Mutation): boolean {
    return this.mutation === mutation;
  }

  /** Returns a copy of the state. The caller changes the copy, and then emits it by calling `take`. */
  copy(): Uint8Array {
    this.to.set(this.from);
    return this.to;
  }

  take(label: number, benign = true, fault: string | null = null): void {
    this.emit(this.to, label, benign, fault);
  }

  // The following methods read the state from which the step leads.

  partnerOf(n: number): number {
    return this.layout.subjects[n].partner;
  }

  isActive(partner: number): boolean {
    return this.from[this.layout.subscription(partner)] === SUBSCRIPTION.ACTIVE;
  }

  /** Returns true if workers send the notifications to the partner, and false if the partner polls them. */
  isPushed(partner: number): boolean {
    return this.from[this.layout.way(partner)] === WAY.PUSH;
  }

  isDown(partner: number): boolean {
    return this.from[this.layout.isDown(partner)] === 1;
  }

  /** Returns whether the delivery protocol considers the partner paused. */
  isWalled(partner: number): boolean {
    return this.from[this.layout.wall(partner)] === 1;
  }

  hasRow(n: number): boolean {
    return this.from[this.layout.trigger(n)] !== TRIGGER.NONE;
  }

  /** Returns whether the row of notification `n` in `deliveries` belongs to the bulk job. */
  isOfJob(n: number): boolean {
    return (this.from[this.layout.waited(n)] & ROW_OF_JOB) !== 0;
  }

  /** Returns whether a worker or a caller has a valid lease on notification `n`. */
  isLeased(n: number): boolean {
    const lease = this.from[this.layout.lease(n)];
    return lease !== LEASE.NONE && lease !== LEASE.LAPSED;
  }

  /**
   * Returns whether nobody has a valid lease on notification `n`, and the expiry of every earlier lease of a caller is
   * recorded.
   */
  isFree(n: number): boolean {
    const { layout, from } = this;
    if (this.isLeased(n)) return false;
    if (this.is('a claim does not wait for the record of a lapse')) return true;
    for (let c = layout.processes; c < layout.workers; c++) if (from[layout.token(c, n)]) return false;
    return true;
  }

  isQueued(n: number): boolean {
    const state = this.from[this.layout.state(n)];
    return state === STATE.AUTO || state === STATE.MANUAL;
  }

  /** Returns whether the required order of the booking's events allows a claim of the row now. */
  isItsTurn(n: number): boolean {
    const { layout, from } = this;
    const trigger = from[layout.trigger(n)];
    for (const m of layout.siblings(n)) {
      const other = from[layout.trigger(m)];
      if (other === TRIGGER.NONE) continue;
      if (this.isLeased(m) && !this.is('claim does not wait for an attempt under way')) return false;
      const earlier = layout.subjects[m].sequence < layout.subjects[n].sequence;
      if (trigger === TRIGGER.REPLAY) {
        if (other !== TRIGGER.REPLAY && !this.is('replay does not wait for what is due')) return false;
        if (other === TRIGGER.REPLAY && earlier && !this.is('replay does not keep the order')) return false;
      } else if (trigger === TRIGGER.MANUAL) {
        if (earlier && other === TRIGGER.MANUAL) return false;
      } else if (earlier && other !== TRIGGER.REPLAY && !this.is('claim does not look at the booking')) return false;
    }
    return true;
  }

  /** Returns whether an attempt of notification `n` is running at the partner. */
  isUnderWay(n: number): boolean {
    const { layout, from } = this;
    if (from[layout.orphan(n)]) return true;
    for (let w = 0; w < layout.workers; w++) if (from[layout.hold(w, n)] === HOLD.UNDER_WAY) return true;
    return false;
  }

  /** Returns whether any attempt that meets the condition is claimed by a worker and can still start. */
  mayBegin(fits: (n: number, flags: number) => boolean): boolean {
    const { layout, from } = this;
    for (let w = 0; w < layout.workers; w++)
      for (let n = 0; n < layout.count; n++) {
        // Only a claim that is written to the row counts, because other workers cannot see a claim before it is
        // written.
        if (from[layout.hold(w, n)] !== HOLD.CLAIMED || from[layout.lease(n)] !== LEASE.FRESH) continue;
        if (fits(n, from[layout.flags(w, n)])) return true;
      }
    return false;
  }

  // The following methods change the state to which the step leads.

  /** Gives the worker a lease on the row of `deliveries`, and makes the tokens of all other workers stale. */
  giveLease(to: Uint8Array, w: number, n: number, flags: number): void {
    const { layout } = this;
    for (let other = 0; other < layout.workers; other++) to[layout.token(other, n)] = 0;
    to[layout.lease(n)] = LEASE.FRESH;
    to[layout.hold(w, n)] = HOLD.CLAIMED;
    to[layout.token(w, n)] = 1;
    to[layout.flags(w, n)] = flags;
  }

  letGo(to: Uint8Array, w: number, n: number): void {
    to[this.layout.hold(w, n)] = HOLD.NONE;
    to[this.layout.token(w, n)] = 0;
    to[this.layout.flags(w, n)] = 0;
  }

  /** Removes the lease from the row, so that earlier tokens become stale. */
  free(to: Uint8Array, n: number): void {
    to[this.layout.lease(n)] = LEASE.NONE;
    for (let w = 0; w < this.layout.workers; w++) to[this.layout.token(w, n)] = 0;
  }

  /** Removes the row of `deliveries` and sets the state of the notification. */
  endRow(to: Uint8Array, n: number, state: number): void {
    this.free(to, n);
    to[this.layout.trigger(n)] = TRIGGER.NONE;
    to[this.layout.state(n)] = state;
    to[this.layout.waited(n)] = 0;
  }

  flagsOfRow(n: number, isJob: boolean): number {
    const { layout, from } = this;
    const trigger = from[layout.trigger(n)];
    return (
      (this.isDown(this.partnerOf(n)) ? FLAG.CLAIMED_DOWN : 0) |
      (trigger === TRIGGER.MANUAL ? FLAG.BY_OPERATOR : 0) |
      (trigger === TRIGGER.REPLAY ? FLAG.OF_REPLAY : 0) |
      (isJob ? FLAG.OF_JOB : 0)
    );
  }
}
