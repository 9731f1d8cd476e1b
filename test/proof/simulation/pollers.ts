import { EventEmitter } from 'node:events';
import type { PollAnswer } from '../../../src/notifications/partner-side/poll.dto.js';
import { streamOf } from './partners.js';
import { processOf } from './simulated-time.js';
import type { Story } from './story.js';

const CALLERS = 2;
const LEASES_S = [1, 3, 10];

/** A notification that the partner has polled and not yet settled. */
interface Polled {
  readonly id: string;
  readonly stream: string;
  readonly sequence: number;
  readonly caller: number;
  /** The earliest and the latest time at which the lease can end. The partner does not know the exact time. */
  readonly leasedUntil: number;
  readonly lapsedAfter: number;
  /** Ends the attempt from the partner's point of view. */
  readonly end: () => void;
}

/** A poll of the partner, with the partner's delivery mode and suspension at the time when the poll was sent. */
interface Call {
  readonly caller: number;
  readonly sentAt: number;
  readonly leaseMs: number;
  readonly acknowledged: readonly Polled[];
  readonly refused: readonly Polled[];
  readonly way: object | undefined;
  readonly suspension: number | null;
  gone: boolean;
}

/**
 * Simulates the partner that polls, with two callers. At random, it acknowledges late or never, acknowledges through
 * the caller that does not hold the lease, refuses, or disconnects.
 */
export class SimulatedPollers {
  private polled: Polled[] = [];
  /** The unanswered call of each caller, with its connection. */
  private readonly calls = new Map<number, { call: Call; connection: EventEmitter }>();
  /**
   * The callers to which a response was lost. Such a caller may hold leases of notifications that it never received.
   */
  private readonly uncertain = new Set<number>();
  /**
   * For each caller and notification, the latest possible end of the caller's last lease. `polled` may name the wrong
   * caller, because a late response does not show whether the other caller has leased the notification since.
   */
  private readonly lapses = new Map<string, number>();

  constructor(
    private readonly story: Story,
    private readonly url: string,
  ) {}

  get isBusy(): boolean {
    return this.calls.size > 0;
  }

  /** Randomly chooses one of the callers. Sends a call of this caller, or disconnects the caller's unanswered call. */
  async act(): Promise<void> {
    const { chance, turns } = this.story;
    const caller = chance.below(CALLERS);
    if (this.calls.has(caller)) {
      if (chance.hits(0.1)) this.disconnect(caller);
    } else this.poll(caller, chance.hits(0.2));
    await turns.quiet();
  }

  /**
   * Helps to empty the partner's queue. The first call of this method disconnects the unanswered polls. Each later call
   * sends polls that do not wait for notifications.
   */
  async drain(isFirst: boolean): Promise<void> {
    for (let caller = 0; caller < CALLERS; caller++) {
      if (isFirst) this.disconnect(caller);
      else if (!this.calls.has(caller)) this.poll(caller, false);
      await this.story.turns.quiet();
    }
  }

  private disconnect(caller: number): void {
    const open = this.calls.get(caller);
    if (open === undefined) return;
    this.story.tell(`caller ${caller} disconnects`);
    open.call.gone = true;
    open.connection.emit('close');
  }

  private poll(caller: number, waits: boolean): void {
    const { chance, partners, service, subscriptions, time, urls } = this.story;
    const settled = this.polled.filter((one) => partners.healthy || chance.hits(one.caller === caller ? 0.6 : 0.05));
    const refused = settled.filter(() => !partners.healthy && chance.hits(0.08));
    const lease_s = chance.pick(LEASES_S);
    const connection = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false, socket: null });
    const call: Call = {
      caller,
      sentAt: time.ms,
      leaseMs: lease_s * 1000,
      acknowledged: settled.filter((one) => !refused.includes(one)),
      refused,
      way: partners.ways.get(this.url),
      suspension: partners.suspensionOf(this.url),
      gone: false,
    };
    for (const one of settled) this.settles(call, one);
    this.calls.set(caller, { call, connection });
    this.story.tell(`caller ${caller} polls, and settles ${settled.map(nameOf).join(', ') || 'nothing'}`);
    const body = {
      max: 1 + chance.below(3),
      return_immediately: !waits,
      lease_s,
      ack: call.acknowledged.map(({ id }) => id),
      refuse: refused.map(({ id }) => ({ id, reason: 'OTHER' as const })),
    };
    const id = subscriptions[urls.indexOf(this.url)];
    void service
      .poll(chance.below(2), `caller ${caller}`, id, body, connection)
      .then(
        (answer) => this.answered(call, answer),
        (error: unknown) => {
          this.uncertain.add(caller);
          this.story.tell(`a poll fails: ${(error as Error).message}`);
        },
      )
      .finally(() => this.calls.delete(caller));
  }

  /**
   * Records that the partner acknowledges or refuses a notification. This is recorded before the service responds,
   * because the service may act on the acknowledgement or the refusal before it responds. A caller to which a response
   * was lost may hold a later lease of the notification without having received the notification.
   */
  private settles({ caller, refused, sentAt }: Call, one: Polled): void {
    if (one.caller === caller && sentAt <= one.lapsedAfter) one.end();
    else if (!this.uncertain.has(caller)) return;
    const event = this.story.partners.event(this.url, one.stream, one.sequence);
    if (refused.includes(one)) event.refused = true;
    else event.acknowledged = true;
  }

  private answered(call: Call, { notifications, unknown }: PollAnswer): void {
    const { partners, time } = this.story;
    for (const one of [...call.acknowledged, ...call.refused]) {
      this.judge(call, one, !unknown.includes(one.id));
      if (one.caller === call.caller) this.polled = this.polled.filter((other) => other !== one);
    }
    if (call.gone) {
      this.uncertain.add(call.caller);
      return;
    }
    if (notifications.length === 0) return;
    if (call.way !== undefined && call.way === partners.ways.get(this.url) && partners.isPushed(this.url))
      partners.breaks('a partner that does not poll gets notifications by a poll');
    if (call.suspension !== null && call.suspension === partners.suspensionOf(this.url))
      partners.breaks('a suspended partner gets notifications by a poll');
    for (const { id, body, event_sequence: sequence } of notifications) {
      this.polled = this.polled.filter((other) => other.id !== id);
      const stream = streamOf(body);
      const leasedUntil = call.sentAt + call.leaseMs;
      const end = time.ms < leasedUntil ? this.begins(id, stream, sequence, leasedUntil) : () => undefined;
      const lapsedAfter = time.ms + call.leaseMs;
      this.lapses.set(`${call.caller} ${id}`, lapsedAfter);
      // The partner forgets some notifications, and therefore never acknowledges or refuses them.
      if (partners.healthy || !this.story.chance.hits(0.1))
        this.polled.push({ id, stream, sequence, caller: call.caller, leasedUntil, lapsedAfter, end });
    }
  }

  /** Records that an attempt begins, which ends with its lease. Returns a function that ends the attempt earlier. */
  private begins(id: string, stream: string, sequence: number, leasedUntil: number): () => void {
    const { partners, time } = this.story;
    this.story.tell(`${this.url} polls ${stream} ${sequence}`);
    const event = partners.begins(this.url, stream, id, sequence);
    let ended = false;
    const end = () => {
      if (!ended) event.underWay -= 1;
      ended = true;
    };
    processOf.exit(() => setTimeout(end, leasedUntil - time.ms));
    return end;
  }

  /** Checks that the service was right to accept or to ignore the acknowledgement or the refusal. */
  private judge(call: Call, one: Polled, counts: boolean): void {
    const { partners, time } = this.story;
    if (one.caller !== call.caller) {
      const mayLease = (this.lapses.get(`${call.caller} ${one.id}`) ?? -Infinity) >= call.sentAt;
      if (counts && !mayLease && !this.uncertain.has(call.caller))
        partners.breaks('an acknowledgement of another caller counts');
      return;
    }
    const event = partners.event(this.url, one.stream, one.sequence);
    if (!counts) {
      if (time.ms < one.leasedUntil && !partners.disturbed) partners.breaks('an acknowledgement in time is ignored');
      return;
    }
    if (call.sentAt > one.lapsedAfter && !this.uncertain.has(call.caller))
      partners.breaks('an acknowledgement counts after its lease');
    if (call.acknowledged.includes(one)) event.accepted = true;
  }
}

function nameOf({ stream, sequence }: Polled): string {
  return `${stream} ${sequence}`;
}
