import { FLAG, HOLD, LEASE, ROW_OF_JOB, STATE, SUBSCRIPTION, TRIGGER, type Layout } from './delivery-state.js';
import type { Mutation } from './mutations.js';
import type { Emit } from './state-search.js';

/** The actions of the world in a configuration; one that is left out does not happen. */
export interface World {
  readonly kills?: boolean;
  /** The partner answers 500. */
  readonly outages?: boolean;
  /** The partner answers with something that waits for an operator. */
  readonly refusals?: boolean;
  /** The partner says that it is busy. */
  readonly busies?: boolean;
  /** The first event is always answered 500, and no other is. */
  readonly oneBadEvent?: boolean;
  /** An event that keeps getting 500 beside others that do not is an operator's; where it can be seen. */
  readonly blames?: boolean;
  /** How many of the partners may be suspended, the first ones. */
  readonly suspends?: number;
  readonly resends?: boolean;
  readonly resolves?: boolean;
  readonly givesUp?: boolean;
  readonly jobs?: boolean;
  readonly replays?: boolean;
  /** Other bookings of the partner, which are not looked at, turn it DOWN and UP. */
  readonly others?: boolean;
}

/** The steps of the model, each named by a word and the worker and notification that it concerns. */
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

/** A state that is being left: what holds in it, and the steps out of it. */
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

  /** A copy of the state that is left, to be changed and given to `take`. */
  copy(): Uint8Array {
    this.to.set(this.from);
    return this.to;
  }

  take(label: number, benign = true, fault: string | null = null): void {
    this.emit(this.to, label, benign, fault);
  }

  // The conditions of the state before.

  partnerOf(n: number): number {
    return this.layout.subjects[n].partner;
  }

  isActive(partner: number): boolean {
    return this.from[this.layout.subscription(partner)] === SUBSCRIPTION.ACTIVE;
  }

  isDown(partner: number): boolean {
    return this.from[this.layout.isDown(partner)] === 1;
  }

  /** The partner is to be left alone, as the protocol knows. */
  isWalled(partner: number): boolean {
    return this.from[this.layout.wall(partner)] === 1;
  }

  hasRow(n: number): boolean {
    return this.from[this.layout.trigger(n)] !== TRIGGER.NONE;
  }

  /** The bulk job has handed it over. */
  isOfJob(n: number): boolean {
    return (this.from[this.layout.waited(n)] & ROW_OF_JOB) !== 0;
  }

  /** Nobody has a lease of it. */
  isFree(n: number): boolean {
    const lease = this.from[this.layout.lease(n)];
    return lease === LEASE.NONE || lease === LEASE.LAPSED;
  }

  isQueued(n: number): boolean {
    const state = this.from[this.layout.state(n)];
    return state === STATE.AUTO || state === STATE.MANUAL;
  }

  /** Whether the order within its booking lets the row go now. */
  isItsTurn(n: number): boolean {
    const { layout, from } = this;
    const trigger = from[layout.trigger(n)];
    for (const m of layout.siblings(n)) {
      const other = from[layout.trigger(m)];
      if (other === TRIGGER.NONE) continue;
      if (!this.isFree(m) && !this.is('claim does not wait for an attempt under way')) return false;
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

  /** An attempt of it is under way at the partner. */
  isUnderWay(n: number): boolean {
    const { layout, from } = this;
    if (from[layout.orphan(n)]) return true;
    for (let w = 0; w < layout.workers; w++) if (from[layout.hold(w, n)] === HOLD.UNDER_WAY) return true;
    return false;
  }

  /** Something claimed for the partner can still begin. */
  mayBegin(fits: (n: number, flags: number) => boolean): boolean {
    const { layout, from } = this;
    for (let w = 0; w < layout.workers; w++)
      for (let n = 0; n < layout.count; n++) {
        // A claim that has not been written yet is not seen by anybody.
        if (from[layout.hold(w, n)] !== HOLD.CLAIMED || from[layout.lease(n)] !== LEASE.FRESH) continue;
        if (fits(n, from[layout.flags(w, n)])) return true;
      }
    return false;
  }

  // Changes of the state that is being made.

  /** The worker has the row from now on, and nobody else. */
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

  /** No lease any more: the tokens of those who had one are stale. */
  free(to: Uint8Array, n: number): void {
    to[this.layout.lease(n)] = LEASE.NONE;
    for (let w = 0; w < this.layout.workers; w++) to[this.layout.token(w, n)] = 0;
  }

  /** The obligation ends. */
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
