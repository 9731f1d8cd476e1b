import { setTimeout as pause } from 'node:timers/promises';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { NotificationsConfig } from '../notifications.config.js';
import { Database, isDatabaseUnavailable, isTimedOut } from '../../platform/database/database.js';
import { Outbox } from '../../platform/events/outbox.js';
import { sealCursor } from '../../platform/http/cursor.js';
import { Logger } from '../../platform/observability/logger.js';
import { DeliverySignals } from '../delivery-signals.js';
import { TranslateEvents } from '../notifications.commands.js';
import { RacePoints } from '../race-points.js';
import { DeliveryLoop } from './delivery-loop.js';
import { leaseToken } from './delivery-lease.js';
import type { Claimed } from './delivery-statements.js';
import { EVENT_NAMES, FIND_ENTRIES, TRANSLATE } from './translation-statement.js';

/** A booking or record, and the sequence number of its last event that is to be translated. */
type Wanted = readonly [stream: string, upTo: number, isOfRecord: boolean];

/**
 * A new notification. Its `lease_token` is null if it was not claimed at its creation. `may_be_sent` is false if the
 * partner is suspended or DOWN, or polls. `may_be_polled` is true if the partner is active and polls.
 */
type Made = Omit<Claimed, 'lease_token'> & { lease_token: number | null; may_be_sent: boolean; may_be_polled: boolean };

/** The number of events that a statement has translated, and the number of events that remain. */
interface Progress {
  events_done: number;
  events_left: number;
}

/**
 * A row of the translation statement's result. The result has at least one row, which contains only the counts if no
 * notification was created.
 */
type Row = Progress & (Made | { position: null });

const MOST_BOOKINGS = 500;
/**
 * The number of concurrent translations. The second translation serves other bookings while the first translation waits
 * for a lock.
 */
const AT_ONCE = 2;
const SETTLING_MS = 50;

/**
 * Translates the events of bookings and records into notifications.
 *
 * 1. Two translations can run at the same time, but never two for the same booking. Commands that arrive in the
 *    meantime are batched into the next translation.
 * 2. Each statement (translation-statement.ts) is a transaction of bounded size. It is repeated until no event is left.
 * 3. A failing batch is halved until the single faulty event is found. That event is set aside, and an alarm is raised.
 *    The faulty event delays no other event, and waits until an operator has corrected it (docs/operations.md).
 * 4. While the database is unavailable, events stay unsettled. The outbox's sweep publishes them again later.
 */
@CommandHandler(TranslateEvents)
export class TranslateEventsHandler implements ICommandHandler<TranslateEvents> {
  private readonly waiting = new Map<string, Wanted>();
  private next: Promise<void> | null = null;
  private readonly running = new Set<Promise<void>>();
  /**
   * Bookings whose events are being translated. Further commands for these bookings wait, because the translation
   * statement would skip the locked events.
   */
  private readonly underWay = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly config: NotificationsConfig,
    private readonly outbox: Outbox,
    private readonly signals: DeliverySignals,
    private readonly loop: DeliveryLoop,
    private readonly races: RacePoints,
  ) {}

  async execute({ stream, upTo, isOfRecord }: TranslateEvents): Promise<void> {
    const [, last] = this.waiting.get(stream) ?? [stream, 0];
    this.waiting.set(stream, [stream, Math.max(upTo, last), isOfRecord]);
    do await (this.next ??= this.begin());
    while (this.waiting.has(stream));
  }

  /** Starts the translation of the waiting bookings as soon as fewer than `AT_ONCE` translations are running. */
  private begin(): Promise<void> {
    const mayNow = this.running.size < AT_ONCE && [...this.waiting.keys()].some((code) => !this.underWay.has(code));
    const turn = mayNow ? Promise.resolve() : Promise.race(this.running);
    const translation = turn.then(() => this.translateWaiting()).finally(() => this.running.delete(translation));
    this.running.add(translation);
    return translation;
  }

  private async translateWaiting(): Promise<void> {
    this.next = null;
    const bookings = [...this.waiting.values()].filter(([bookingCode]) => !this.underWay.has(bookingCode));
    for (const [bookingCode] of bookings) {
      this.waiting.delete(bookingCode);
      this.underWay.add(bookingCode);
    }
    await this.races.reached('translating');
    try {
      for (let at = 0; at < bookings.length; at += MOST_BOOKINGS)
        await this.translateHalving(bookings.slice(at, at + MOST_BOOKINGS));
    } catch (error) {
      this.logger.warn({ err: error, bookings: bookings.length }, 'events could not be translated yet');
    } finally {
      for (const [bookingCode] of bookings) this.underWay.delete(bookingCode);
    }
  }

  /** Translates the bookings, and halves a batch that fails. Throws only if the database is unavailable. */
  private async translateHalving(bookings: readonly Wanted[]): Promise<void> {
    try {
      await this.translateAll(bookings);
    } catch (error) {
      if (isDatabaseUnavailable(error) && !isTimedOut(error)) throw error;
      if (bookings.length === 1) return this.translateOneByOne(bookings[0]);
      this.logger.warn({ err: error, bookings: bookings.length }, 'a batch of events is translated in halves');
      const half = Math.ceil(bookings.length / 2);
      await this.translateHalving(bookings.slice(0, half));
      await this.translateHalving(bookings.slice(half));
    }
  }

  /** Translates the events of a booking one by one, so that a faulty event does not block the other events. */
  private async translateOneByOne([bookingCode, upTo, isOfRecord]: Wanted): Promise<void> {
    for (const { event_id, sequence } of await this.outbox.unsettled(bookingCode, upTo, EVENT_NAMES)) {
      try {
        await this.translateAll([[bookingCode, sequence, isOfRecord]]);
      } catch (error) {
        if (isDatabaseUnavailable(error)) throw error;
        await this.outbox.setAside(event_id);
        this.logger.error({ err: error, event_id }, 'an event that cannot be translated was set aside');
      }
    }
  }

  private async translateAll(bookings: readonly Wanted[]): Promise<void> {
    for (let patience = 2; patience > 0;) {
      const { events_done, events_left } = await this.translateSome(bookings);
      if (events_left === 0) return;
      if (events_done > 0) continue;
      // Events that are locked are being translated by another process. If that process fails, the outbox's sweep
      // publishes them again.
      patience -= 1;
      await pause(SETTLING_MS);
    }
  }

  private async translateSome(bookings: readonly Wanted[]): Promise<Progress> {
    const streams = bookings.map(([stream]) => stream);
    const upTo = bookings.map(([, last]) => last);
    const entries = bookings.some(([, , isOfRecord]) => isOfRecord) ? await this.entriesOf(streams, upTo) : [];
    const claimedAt = performance.now();
    const rows = await this.database.query<Row>(TRANSLATE, [
      streams,
      upTo,
      EVENT_NAMES,
      this.loop.readyFor(bookings.length),
      this.config.waitMs,
      leaseToken(),
      entries.map((entry) => entry.event_id),
      entries.map((entry) => sealCursor(entry.entry_id)),
    ]);
    await this.races.reached('translated');
    const made = rows.filter((row) => row.position !== null);
    const claimed = made.filter((row): row is Progress & Made & Claimed => row.lease_token !== null);
    await this.loop.take(claimed, claimedAt);
    this.signals.due([
      ...new Set(made.filter((row) => row.may_be_sent && row.lease_token === null).map((row) => row.subscription_id)),
    ]);
    this.signals.offerable([...new Set(made.filter((row) => row.may_be_polled).map((row) => row.subscription_id))]);
    return rows[0];
  }

  /**
   * Returns the untranslated events of records, each with the position of its entry in the change feed. The database
   * cannot encrypt the positions, so they are encrypted before the translation statement receives them.
   */
  private entriesOf(streams: string[], upTo: number[]): Promise<{ event_id: string; entry_id: string }[]> {
    return this.database.query(FIND_ENTRIES, [streams, upTo]);
  }
}
