/** A notification of the model: which event of which booking it tells which partner. Its number is its position. */
export interface Subject {
  readonly partner: number;
  readonly booking: number;
  /** 1, 2, 3 … per booking. */
  readonly sequence: number;
}

// Values of the single bytes of a state.

export const EVENT = { NONE: 0, COMMITTED: 1, SETTLED: 2 } as const;
export const STATE = { NONE: 0, PENDING: 1, DELIVERED: 2, AUTO: 3, MANUAL: 4, RESOLVED: 5 } as const;
/** Of the obligation (a row of `deliveries`); NONE: there is no row. */
export const TRIGGER = { NONE: 0, FIRST: 1, AUTO: 2, MANUAL: 3, REPLAY: 4 } as const;
/** FRESH: an attempt may begin under it; OLD: no more; LAPSED: anybody may claim the row. */
export const LEASE = { NONE: 0, FRESH: 1, OLD: 2, LAPSED: 3 } as const;
/** The step of a worker with a notification. ASKED: a claim that has looked and not yet written (a mutation). */
export const HOLD = { NONE: 0, CLAIMED: 1, UNDER_WAY: 2, OK: 3, DOWN: 4, REFUSED: 5, ASKED: 6, BUSY: 7 } as const;
export const SUBSCRIPTION = { ACTIVE: 0, SUSPENDING: 1, SUSPENDED: 2 } as const;
/** The next probe of a partner that is DOWN; HELD + position: a worker has it. NEVER is a mutation's. */
export const PROBE = { DUE: 0, WAITING: 1, HELD: 2, NEVER: 255 } as const;
/** STOPPING and ENDING: pause and abort were asked for and are not yet obeyed. */
export const JOB = { NONE: 0, RUNNING: 1, STOPPING: 2, PAUSED: 3, ENDING: 4, ABORTED: 5, DONE: 6 } as const;
export const ITEM = { NONE: 0, WAITING: 1, SENT: 2, BEGUN: 3, ENDED: 4 } as const;

/** After so many good answers a partner is slowed no more. */
export const ENOUGH_GOOD = 2;
/** After so many 500s in a row an event may be the only one at fault. */
export const SUSPECT = 3;
const OF_PARTNER = 8;
const OF_NOTIFICATION = 10;

/** Of a hold. */
export const FLAG = { PROBE: 1, CLAIMED_DOWN: 2, BEGUN_LATE: 4, BY_OPERATOR: 8, OF_JOB: 16, OF_REPLAY: 32 } as const;

/** Where each byte of a state stands. */
export class Layout {
  readonly size: number;
  private readonly siblingsOf: readonly (readonly number[])[];
  private readonly eventOf: readonly (readonly number[])[];

  constructor(
    readonly subjects: readonly Subject[],
    readonly workers: number,
    readonly partners: number,
  ) {
    this.size = this.job + 1;
    const those = (fits: (subject: Subject, other: Subject) => boolean) =>
      subjects.map((subject) => subjects.flatMap((other, m) => (fits(subject, other) ? [m] : [])));
    this.siblingsOf = those(
      (subject, other) => other !== subject && other.partner === subject.partner && other.booking === subject.booking,
    );
    this.eventOf = those((subject, other) => other.booking === subject.booking && other.sequence === subject.sequence);
  }

  get count(): number {
    return this.subjects.length;
  }

  // Of a partner.
  readonly subscription = (partner: number) => partner * OF_PARTNER;
  readonly isDown = (partner: number) => partner * OF_PARTNER + 1;
  readonly probe = (partner: number) => partner * OF_PARTNER + 2;
  /** The bulk job has had a success with this partner. */
  readonly jobSuccess = (partner: number) => partner * OF_PARTNER + 3;
  /** Nothing is sent to it, as the protocol has it. */
  readonly wall = (partner: number) => partner * OF_PARTNER + 4;
  /** It asked to be left alone, and the time is not over. */
  readonly isBusy = (partner: number) => partner * OF_PARTNER + 5;
  /** It is sent less than it took. */
  readonly isSlowed = (partner: number) => partner * OF_PARTNER + 6;
  /** Its good answers since it was slowed, `ENOUGH_GOOD` at most. */
  readonly good = (partner: number) => partner * OF_PARTNER + 7;

  // Of a notification.
  private readonly own = (n: number) => this.partners * OF_PARTNER + n * OF_NOTIFICATION;
  /** Of its event; all notifications of the event say the same. */
  readonly event = (n: number) => this.own(n);
  readonly state = (n: number) => this.own(n) + 1;
  readonly trigger = (n: number) => this.own(n) + 2;
  readonly lease = (n: number) => this.own(n) + 3;
  /** The partner has answered 200 to it. */
  readonly accepted = (n: number) => this.own(n) + 4;
  /** Why it may come twice: 1 after a kill, a lapse or an operator's word. */
  readonly mayRepeat = (n: number) => this.own(n) + 5;
  /** An attempt of a killed worker is still under way at the partner. */
  readonly orphan = (n: number) => this.own(n) + 6;
  readonly item = (n: number) => this.own(n) + 7;
  /** How long it has waited: what the protocol counted (low two bits), what counts (next two); 16: row of the job. */
  readonly waited = (n: number) => this.own(n) + 8;
  /** Answers of 500 in a row, `SUSPECT` at most; `SUSPECT + 1`: and another event was answered 200 since. */
  readonly failures = (n: number) => this.own(n) + 9;

  // Of a worker.
  readonly isAlive = (w: number) =>
    this.partners * OF_PARTNER + this.count * OF_NOTIFICATION + w * (1 + this.count * 3);
  readonly hold = (w: number, n: number) => this.isAlive(w) + 1 + n * 3;
  /** The token of the hold is that of the row. */
  readonly token = (w: number, n: number) => this.hold(w, n) + 1;
  readonly flags = (w: number, n: number) => this.hold(w, n) + 2;

  get job(): number {
    return this.isAlive(this.workers);
  }

  /** The notifications that share partner and booking with `n`, itself left out. */
  readonly siblings = (n: number) => this.siblingsOf[n];
  /** The notifications of the event of `n`, itself among them. */
  readonly ofEvent = (n: number) => this.eventOf[n];
}

/** A flag of `waited`. */
export const ROW_OF_JOB = 16;
