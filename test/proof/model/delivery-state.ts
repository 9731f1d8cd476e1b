/**
 * A notification in the model: an event of a booking for one partner. Notifications are numbered in the order in which
 * the service would store them.
 */
export interface Subject {
  readonly partner: number;
  readonly booking: number;
  /** The number of the event within its booking: 1, 2, 3 … */
  readonly sequence: number;
}

// Each constant object lists the possible values of one byte of the model's state.

export const EVENT = { NONE: 0, COMMITTED: 1, SETTLED: 2 } as const;
export const STATE = { NONE: 0, PENDING: 1, DELIVERED: 2, AUTO: 3, MANUAL: 4, RESOLVED: 5 } as const;
/** The reason why the notification has a row in `deliveries`; NONE means that there is no row. */
export const TRIGGER = { NONE: 0, FIRST: 1, AUTO: 2, MANUAL: 3, REPLAY: 4 } as const;
/**
 * The age of a worker's lease. FRESH: an attempt may start. OLD: no attempt may start. LAPSED: the lease has expired,
 * and any worker may claim the row.
 */
export const LEASE = { NONE: 0, FRESH: 1, OLD: 2, LAPSED: 3 } as const;
/**
 * The progress of a worker with a notification, or of a caller that has polled the notification. ASKED: only the first
 * half of a claim or a translation is done, which happens only in a mutation of the protocol. LATE: the lease of a
 * caller has expired, and the expiry is not yet recorded.
 */
export const HOLD = {
  NONE: 0,
  CLAIMED: 1,
  UNDER_WAY: 2,
  OK: 3,
  DOWN: 4,
  REFUSED: 5,
  ASKED: 6,
  BUSY: 7,
  LATE: 8,
} as const;
/**
 * The mode in which a partner gets notifications. TURNING: the change to POLL is committed, but the operator's request
 * for the change is not yet answered.
 */
export const WAY = { PUSH: 0, TURNING: 1, POLL: 2 } as const;
export const SUBSCRIPTION = { ACTIVE: 0, SUSPENDING: 1, SUSPENDED: 2 } as const;
/**
 * The state of the next probe of a DOWN partner. HELD + `n`: a worker has claimed notification `n` as the probe. NEVER
 * occurs only in a mutation.
 */
export const PROBE = { DUE: 0, WAITING: 1, HELD: 2, NEVER: 255 } as const;
/** The state of the bulk job. STOPPING and ENDING: a pause or an abort was requested, and has not taken effect yet. */
export const JOB = { NONE: 0, RUNNING: 1, STOPPING: 2, PAUSED: 3, ENDING: 4, ABORTED: 5, DONE: 6 } as const;
export const ITEM = { NONE: 0, WAITING: 1, SENT: 2, BEGUN: 3, ENDED: 4 } as const;

/** The number of successful responses after which a partner is no longer slowed down. */
export const ENOUGH_GOOD = 2;
/**
 * The number of consecutive 500 responses to an event after which the event, rather than the partner, may be at fault.
 */
export const SUSPECT = 3;
const OF_PARTNER = 10;
const OF_NOTIFICATION = 10;

/** The bits that describe the claim that a worker has on a notification. */
export const FLAG = { PROBE: 1, CLAIMED_DOWN: 2, BEGUN_LATE: 4, BY_OPERATOR: 8, OF_JOB: 16, OF_REPLAY: 32 } as const;

/** Calculates the offset of each byte in the states of a model with the given size. */
export class Layout {
  readonly size: number;
  /**
   * The number of possible lease holders. The processes have the first numbers, and the callers that poll have the
   * following numbers.
   */
  readonly workers: number;
  private readonly siblingsOf: readonly (readonly number[])[];
  private readonly eventOf: readonly (readonly number[])[];

  constructor(
    readonly subjects: readonly Subject[],
    readonly processes: number,
    readonly partners: number,
    callers: number,
  ) {
    this.workers = processes + callers;
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

  // The following functions return the offsets of the bytes that describe a partner.
  readonly subscription = (partner: number) => partner * OF_PARTNER;
  readonly isDown = (partner: number) => partner * OF_PARTNER + 1;
  readonly probe = (partner: number) => partner * OF_PARTNER + 2;
  /** Whether the bulk job has delivered a notification to the partner. */
  readonly jobSuccess = (partner: number) => partner * OF_PARTNER + 3;
  /**
   * Whether the service currently sends nothing to the partner, because it believes that the partner's pause is in
   * effect.
   */
  readonly wall = (partner: number) => partner * OF_PARTNER + 4;
  /** Whether the pause that the partner asked for is really still in effect. */
  readonly isBusy = (partner: number) => partner * OF_PARTNER + 5;
  /** Whether the service sends requests at a lower rate than before, because the partner was busy. */
  readonly isSlowed = (partner: number) => partner * OF_PARTNER + 6;
  /** The number of successful responses since the partner was slowed down, counted up to `ENOUGH_GOOD`. */
  readonly good = (partner: number) => partner * OF_PARTNER + 7;

  /**
   * The time for which the partner has answered only "busy". The lowest two bits contain the time that the protocol has
   * counted, and the next two bits contain the real time. The `ONLY_BUSY` flag shares the byte.
   */
  readonly busyFor = (partner: number) => partner * OF_PARTNER + 8;
  readonly way = (partner: number) => partner * OF_PARTNER + 9;
  /** The offsets of the bytes that a change between PUSH and POLL resets. */
  readonly conditionOf = (partner: number) =>
    [this.isDown, this.probe, this.wall, this.isBusy, this.isSlowed, this.good, this.busyFor].map((at) => at(partner));

  // The following functions return the offsets of the bytes that describe a notification.
  private readonly own = (n: number) => this.partners * OF_PARTNER + n * OF_NOTIFICATION;
  /** The state of the notification's event, which is equal for all notifications of the event. */
  readonly event = (n: number) => this.own(n);
  readonly state = (n: number) => this.own(n) + 1;
  readonly trigger = (n: number) => this.own(n) + 2;
  readonly lease = (n: number) => this.own(n) + 3;
  /** Whether the partner has answered 200 to the notification. */
  readonly accepted = (n: number) => this.own(n) + 4;
  /** Whether the notification may arrive twice; 1 after a kill, an expired lease or an operator's action. */
  readonly mayRepeat = (n: number) => this.own(n) + 5;
  /** Whether an attempt of a killed worker is still being processed by the partner. */
  readonly orphan = (n: number) => this.own(n) + 6;
  readonly item = (n: number) => this.own(n) + 7;
  /**
   * The time for which the notification has waited. The lowest two bits contain the time that the protocol has counted,
   * and the next two bits contain the real time. The `ROW_OF_JOB` flag shares the byte.
   */
  readonly waited = (n: number) => this.own(n) + 8;
  /**
   * The number of consecutive 500 responses, counted up to `SUSPECT`. `SUSPECT + 1` means that the partner has since
   * answered another event with 200.
   */
  readonly failures = (n: number) => this.own(n) + 9;

  // The following functions return the offsets of the bytes that describe a worker.
  readonly isAlive = (w: number) =>
    this.partners * OF_PARTNER + this.count * OF_NOTIFICATION + w * (1 + this.count * 3);
  readonly hold = (w: number, n: number) => this.isAlive(w) + 1 + n * 3;
  /** Whether the worker's claim has the same fencing token as the row. */
  readonly token = (w: number, n: number) => this.hold(w, n) + 1;
  readonly flags = (w: number, n: number) => this.hold(w, n) + 2;

  get job(): number {
    return this.isAlive(this.workers);
  }

  /** Returns the other notifications of the same booking for the same partner as notification `n`. */
  readonly siblings = (n: number) => this.siblingsOf[n];
  /** Returns the notifications of the same event as notification `n`, including `n`. */
  readonly ofEvent = (n: number) => this.eventOf[n];
}

/**
 * A flag in a partner's `busyFor` byte. The flag is set after the partner was busy, until the partner accepts
 * something.
 */
export const ONLY_BUSY = 16;

/**
 * A flag in a notification's `waited` byte. The flag is set if the notification's row in `deliveries` belongs to the
 * bulk job.
 */
export const ROW_OF_JOB = 16;
