import type { AttemptOutcome, PartnerEndpoint } from '../../src/notifications/partner/partner-client.js';
import { processOf, type SimulatedTime } from './simulated-time.js';
import type { Chance, Turns } from './turns.js';

interface Told {
  readonly id: string;
  readonly sequence: number;
  underWay: number;
  accepted: boolean;
  /** It was refused, or an operator sends it again: later ones need not wait for it. */
  excused: boolean;
}

/** A promise that was broken. */
export class Broken extends Error {}

/** The partners and the network to them: what they answer, and what they notice. */
export class SimulatedPartners {
  readonly down = new Set<string>();
  /** Subscriptions, by their addresses, whose suspension has been answered. */
  readonly suspended = new Set<string>();
  /** Something was stopped or lost: an event may come twice. */
  disturbed = false;
  healthy = false;
  attempts = 0;
  broken: Broken | null = null;
  private readonly told = new Map<string, Map<number, Told>>();

  constructor(
    private readonly chance: Chance,
    private readonly time: SimulatedTime,
    private readonly turns: Turns,
  ) {}

  /** What was told of a booking to the partner at the address. */
  of(url: string, booking: string): Map<number, Told> {
    const key = `${url} ${booking}`;
    const known = this.told.get(key) ?? new Map<number, Told>();
    this.told.set(key, known);
    return known;
  }

  /** An operator sends again what waits: it comes late. */
  excuseAll(): void {
    for (const events of this.told.values())
      for (const event of events.values()) if (!event.accepted) event.excused = true;
  }

  async put(endpoint: PartnerEndpoint, headers: Record<string, string>, body: string): Promise<AttemptOutcome> {
    const { booking_code: booking } = JSON.parse(body) as { booking_code: string };
    const event = this.begins(endpoint.url, booking, headers['webhook-id'], Number(headers['event-sequence']));
    const begun = this.time.ms;
    let ended = false;
    const end = () => {
      if (!ended) event.underWay -= 1;
      ended = true;
    };
    // Whatever becomes of the process, the attempt does not outlast the wait time.
    const late = processOf.exit(() => new Promise<void>((resolve) => setTimeout(resolve, endpoint.waitMs)));
    void late.then(end);
    const hangs = !this.healthy && this.chance.hits(0.03);
    if (hangs) await late;
    else await Promise.race([late, processOf.exit(() => this.turns.wait())]);
    const inTime = !ended;
    end();
    const durationMs = this.time.ms - begun;
    const status = !inTime ? null : this.statusOf(endpoint.url);
    if (status === 200) event.accepted = true;
    else if (status !== 500) event.excused = true;
    // The answer is on its way.
    await this.turns.wait();
    return {
      delivered: status === 200,
      httpStatus: status,
      failure: status === 200 ? null : status === 500 ? 'server_error' : status === null ? 'timeout' : 'client_error',
      reason: null,
      excerpt: null,
      durationMs,
    };
  }

  private statusOf(url: string): number {
    if (this.healthy) return 200;
    if (this.down.has(url)) return 500;
    return this.chance.hits(0.06) ? 400 : 200;
  }

  private begins(url: string, booking: string, id: string, sequence: number): Told {
    this.attempts += 1;
    const events = this.of(url, booking);
    const event = events.get(sequence) ?? { id, sequence, underWay: 0, accepted: false, excused: false };
    const late = event.excused;
    events.set(sequence, event);
    for (const other of events.values())
      if (other.underWay > 0) this.breaks(`${other === event ? 'one event' : 'two events of a booking'} at once`);
    for (let earlier = 1; earlier < sequence; earlier++) {
      const before = events.get(earlier);
      if (!late && !before?.accepted && !before?.excused) this.breaks(`event ${sequence} overtakes event ${earlier}`);
    }
    if (this.suspended.has(url)) this.breaks('an attempt begins after suspend has answered');
    if (event.accepted && !event.excused && !this.disturbed) this.breaks('an event is sent again after its 200');
    if (event.id !== id) this.breaks('an event has two ids');
    event.underWay += 1;
    return event;
  }

  breaks(promise: string): void {
    this.broken ??= new Broken(promise);
  }
}
