import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { TraceChecker, type Observation } from '../model/trace.js';
import type { Partner } from '../../support/partner.js';

type Seen = Observation & { readonly at: number };

/**
 * The number of successive events of a booking that the model checks together. The number is small, because each
 * further event multiplies the number of the model's states.
 */
const CHECKED_TOGETHER = 4;

/** Records the events that arrive at the partner, in the order of their arrival. */
export class Ledger {
  /** The events that the partner accepted. For a change of a record, `booking` contains the id of the record. */
  readonly accepted = new Map<string, { booking: string; sequence: number; at: number[] }>();
  private readonly underWay = new Set<string>();
  private readonly bookings = new Map<string, Seen[]>();
  private readonly kills: number[] = [];
  /** The bookings whose events overtook an earlier event, once for each such event. */
  private readonly overtakings: string[] = [];
  inFlightTwice = 0;
  /**
   * The number of events that arrived before the partner had accepted an earlier event of the same booking, or during
   * another attempt for that booking. Events of the bookings in {@link left} are not counted.
   */
  get overtaken(): number {
    return this.overtakings.filter((booking) => !this.left.has(booking)).length;
  }
  /**
   * The bookings with an event that the service left to an operator, because the partner refused this event but
   * accepted others.
   */
  left: ReadonlySet<string> = new Set();
  refused = 0;
  /** The number of accepted requests. Notifications that the partner polls are not counted. */
  pushed = 0;
  down = false;

  listenTo(partner: Partner): void {
    partner.answer(async (request) => {
      const id = request.headers['webhook-id'];
      const body = request.json as { booking_code: string; svc_eligiblity_id: string };
      const booking = request.path.endsWith('/changes') ? body.svc_eligiblity_id : body.booking_code;
      const sequence = Number(request.headers['event-sequence']);
      const end = this.begin(id, booking, sequence);
      await pause(randomInt(15));
      const status = this.down ? 500 : this.isBusy() ? 429 : 200;
      end(status);
      if (status === 200) this.pushed += 1;
      return { status };
    });
  }

  /** Records the beginning of an attempt. @returns a function that records the partner's response to the attempt */
  begin(id: string, booking: string, sequence: number): (status: 200 | 429 | 500) => void {
    this.begins(booking, sequence);
    if (this.underWay.has(id)) this.inFlightTwice += 1;
    this.underWay.add(id);
    return (status) => {
      this.underWay.delete(id);
      this.seenOf(booking).push({ what: 'answer', sequence, status: status === 200 ? 200 : 500, at: Date.now() });
      if (status !== 200) {
        this.refused += 1;
        return;
      }
      const entry = this.accepted.get(id) ?? { booking, sequence, at: [] };
      entry.at.push(Date.now());
      this.accepted.set(id, entry);
    };
  }

  /** Whether the partner answers 429 to the current request. */
  protected isBusy(): boolean {
    return false;
  }

  killed(): void {
    this.kills.push(Date.now());
  }

  /** Returns whether a process was killed between the two times, or within the second before the first time. */
  wasKilledBetween(from: number, to: number): boolean {
    return this.kills.some((kill) => kill > from - 1000 && kill < to);
  }

  /**
   * Returns the number of bookings whose deliveries the model of the protocol cannot explain, and the first such
   * booking.
   */
  unexplained(): { count: number; first: string | null } {
    const checkers = new Map<string, TraceChecker>();
    let [count, first]: [number, string | null] = [0, null];
    for (const [booking, seen] of this.bookings) {
      const events = Math.max(...seen.map((one) => (one.what === 'kill' ? 0 : one.sequence)));
      const isLeft = this.left.has(booking);
      const together = Math.min(events, CHECKED_TOGETHER);
      const checker = checkers.get(`${together} ${isLeft}`) ?? new TraceChecker(together, isLeft);
      checkers.set(`${together} ${isLeft}`, checker);
      const traces = Array.from({ length: events - together + 1 }, (_, before) => this.traceOf(seen, before, together));
      const trace = traces.find((one) => checker.firstUnexplained(one) !== null);
      if (trace === undefined) continue;
      count += 1;
      first ??= `${booking}: ${JSON.stringify(trace)}, not explained from ${checker.firstUnexplained(trace)} on`;
    }
    return { count, first };
  }

  private begins(booking: string, sequence: number): void {
    const seen = this.seenOf(booking);
    const answers = seen.flatMap((one) => (one.what === 'answer' ? [one] : []));
    for (let earlier = 1; earlier < sequence; earlier++)
      if (!answers.some((one) => one.sequence === earlier && one.status === 200)) this.overtakings.push(booking);
    if (seen.length > answers.length * 2) this.overtakings.push(booking);
    seen.push({ what: 'begin', sequence, at: Date.now() });
  }

  private seenOf(booking: string): Seen[] {
    const seen = this.bookings.get(booking) ?? [];
    this.bookings.set(booking, seen);
    return seen;
  }

  /**
   * Builds the trace of a booking's events. The trace omits the first `skipped` events, and covers the next `length`
   * events. It contains a kill between two observations if a process was killed between them.
   */
  private traceOf(seen: readonly Seen[], skipped: number, length: number): Observation[] {
    const trace: Observation[] = [];
    let before = 0;
    for (const { at, ...observation } of seen) {
      if (observation.what === 'kill') continue;
      const sequence = observation.sequence - skipped;
      if (sequence < 1 || sequence > length) continue;
      if (this.wasKilledBetween(before, at)) trace.push({ what: 'kill' });
      trace.push({ ...observation, sequence });
      before = at;
    }
    return trace;
  }
}
