import type { PartnerEndpoint } from '../../../src/notifications/partner/partner-client.js';
import type { AttemptOutcome } from '../../../src/notifications/partner/attempt-outcome.js';
import { AttemptNotBegun } from '../../../src/notifications/partner/partner-connection.js';
import { SUSPECT_AFTER } from '../../../src/notifications/delivery/delivery-statements.js';
import { processOf, type SimulatedTime } from './simulated-time.js';
import type { Chance, FairSemaphore } from './turns.js';

/** The Retry-After of a busy partner, in seconds. */
const BUSY_S = 1;

/** The observations of a partner about the attempts for one event. */
interface Told {
  readonly sequence: number;
  id: string | null;
  underWay: number;
  accepted: boolean;
  /** Whether the partner has sent an acknowledgement that may have been in time. */
  acknowledged: boolean;
  /**
   * Whether the partner has refused the event. A refused event waits for an operator, and later events need not wait
   * for it.
   */
  refused: boolean;
  /** The number of times that the partner has answered the event with 500. */
  failures: number;
  /** Whether an operator has requested a resend of the event. */
  asked: boolean;
}

/**
 * An observation that seems to break a promise about some events of a booking or record. The observation is allowed if
 * the partner has not selected one of these events, or if a bulk job has resent or settled one of them.
 */
export interface Suspicion {
  readonly url: string;
  readonly stream: string;
  readonly sequences: readonly number[];
  readonly promise: string;
}

export class Broken extends Error {}

/** Simulates the partners and the network, and records the attempts that each partner observes. */
export class SimulatedPartners {
  readonly down = new Set<string>();
  /** The addresses of the partners whose suspension is acknowledged, each with the serial number of the suspension. */
  private readonly suspended = new Map<string, number>();
  private suspensions = 0;
  /** The mode in which a partner gets notifications; undefined while a request to change the mode is unanswered. */
  readonly ways = new Map<string, { readonly delivery: 'PUSH' | 'POLL' }>();
  /** Whether an event may arrive twice, because a process was stopped or a response was lost. */
  disturbed = false;
  healthy = false;
  attempts = 0;
  broken: Broken | null = null;
  suspicions: Suspicion[] = [];
  /**
   * The time until which a process must not call a partner, because the partner has answered the process that it is
   * busy.
   */
  private readonly walls = new Map<string, number>();
  private readonly told = new Map<string, Map<number, Told>>();

  constructor(
    private readonly chance: Chance,
    private readonly time: SimulatedTime,
    private readonly turns: FairSemaphore,
    private readonly log: (line: string) => void,
  ) {}

  /** Returns the attempts that the partner with this address has observed for the events of a booking or record. */
  of(url: string, stream: string): Map<number, Told> {
    const key = `${url} ${stream}`;
    const known = this.told.get(key) ?? new Map<number, Told>();
    this.told.set(key, known);
    return known;
  }

  /**
   * Records that the request to suspend the partner was answered, or that an operator has asked to resume the partner.
   */
  suspend(url: string, isSuspended: boolean): void {
    if (isSuspended) this.suspended.set(url, ++this.suspensions);
    else this.suspended.delete(url);
  }

  /** Returns the serial number of the partner's suspension; null unless the suspension is acknowledged. */
  suspensionOf(url: string): number | null {
    return this.suspended.get(url) ?? null;
  }

  isPushed(url: string): boolean {
    return this.ways.get(url)?.delivery === 'PUSH';
  }

  /** Records that an operator requested a resend. The event may then arrive out of order, and perhaps twice. */
  ask(url: string, stream: string, sequence: number): void {
    this.event(url, stream, sequence).asked = true;
  }

  async put(
    { url, waitMs }: PartnerEndpoint,
    headers: Record<string, string>,
    body: string,
    mayBegin: () => boolean,
  ): Promise<AttemptOutcome> {
    const stream = streamOf(body);
    const asked = this.time.ms;
    // The simulated partner ends the attempt after the subscription's wait time, even if the process that started the
    // attempt dies.
    const late = processOf.exit(() => new Promise<void>((resolve) => setTimeout(resolve, waitMs)));
    // Waiting for a turn simulates the time that it takes to connect to the partner.
    const label = `${url} ${stream} ${headers['event-sequence']}`;
    await this.turns.wait(label);
    if (this.time.ms - asked >= waitMs) {
      this.event(url, stream, Number(headers['event-sequence'])).refused = true;
      return outcome(null, this.time.ms - asked);
    }
    if (!mayBegin()) throw new AttemptNotBegun();
    const event = this.putBegins(url, stream, headers['webhook-id'], Number(headers['event-sequence']));
    let ended = false;
    const end = () => {
      if (!ended) event.underWay -= 1;
      ended = true;
    };
    void late.then(end);
    const hangs = !this.healthy && this.chance.hits(0.03);
    if (hangs) await late;
    else await Promise.race([late, processOf.exit(() => this.turns.wait(label))]);
    const inTime = !ended;
    end();
    const durationMs = this.time.ms - asked;
    const status = inTime ? this.statusOf(url) : null;
    this.log(`${url} answers ${stream} ${event.sequence}: ${status ?? 'nothing'}`);
    if (status === 200) event.accepted = true;
    else if (status === 500) event.failures += 1;
    else if (status !== 429) event.refused = true;
    // After this many failures, the service may treat the event as refused, if the partner accepts other events.
    if (event.failures > SUSPECT_AFTER) event.refused = true;
    // Waiting for a turn simulates the time until the partner's response arrives.
    await this.turns.wait(`${label} is answered`);
    if (status === 429) this.walls.set(`${processOf.getStore()} ${url}`, this.time.ms + BUSY_S * 1000);
    return outcome(status, durationMs);
  }

  private statusOf(url: string): number {
    if (this.healthy) return 200;
    if (this.down.has(url)) return 500;
    if (this.chance.hits(0.03)) return 429;
    return this.chance.hits(0.06) ? 400 : 200;
  }

  private putBegins(url: string, stream: string, id: string, sequence: number): Told {
    if (this.time.ms < (this.walls.get(`${processOf.getStore()} ${url}`) ?? 0))
      this.breaks('a process sends something to a partner that has told it to wait');
    this.log(`process ${processOf.getStore()} sends ${url} ${stream} ${sequence}`);
    if (this.suspended.has(url)) this.breaks('an attempt begins after suspend has answered');
    if (this.ways.get(url)?.delivery === 'POLL') this.breaks('an attempt begins after the change to POLL has answered');
    return this.begins(url, stream, id, sequence);
  }

  /** Begins an attempt, and checks the promises about its beginning. */
  begins(url: string, stream: string, id: string, sequence: number): Told {
    this.attempts += 1;
    const events = this.of(url, stream);
    const event = this.event(url, stream, sequence);
    for (const other of events.values())
      if (other.underWay > 0)
        this.breaks(`${other === event ? 'one event' : 'two events of a booking or record'} at once`);
    for (let earlier = 1; earlier < sequence && !event.asked; earlier++) {
      const before = events.get(earlier);
      if (!before?.accepted && !before?.acknowledged && !before?.refused && !before?.asked)
        this.suspects(url, stream, [earlier, sequence], `event ${sequence} overtakes event ${earlier}`);
    }
    if (event.accepted && !event.asked && !this.disturbed)
      this.suspects(url, stream, [sequence], 'an event is sent again after its 200');
    event.id ??= id;
    if (event.id !== id) this.breaks('an event has two ids');
    event.underWay += 1;
    return event;
  }

  /** Returns the attempts that the partner with this address has observed for an event. */
  event(url: string, stream: string, sequence: number): Told {
    const events = this.of(url, stream);
    const event = events.get(sequence) ?? {
      sequence,
      id: null,
      underWay: 0,
      accepted: false,
      acknowledged: false,
      refused: false,
      failures: 0,
      asked: false,
    };
    events.set(sequence, event);
    return event;
  }

  private suspects(url: string, stream: string, sequences: number[], promise: string): void {
    this.suspicions.push({ url, stream, sequences, promise });
  }

  breaks(promise: string): void {
    this.broken ??= new Broken(promise);
  }
}

/** Returns the booking or record to which the event in a request's body belongs. */
export function streamOf(body: string): string {
  const event = JSON.parse(body) as { booking_code: string | null; svc_eligiblity_id?: string };
  return event.svc_eligiblity_id ?? event.booking_code!;
}

function outcome(status: number | null, durationMs: number): AttemptOutcome {
  return {
    delivered: status === 200,
    httpStatus: status,
    failure: status === 200 ? null : status === 500 ? 'server_error' : status === null ? 'timeout' : 'client_error',
    reason: null,
    excerpt: null,
    durationMs,
    retryAfterS: status === 429 ? BUSY_S : null,
    earlier: [],
    beganMs: 0,
  };
}
