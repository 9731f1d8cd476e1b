import { CommandBus } from '@nestjs/cqrs';
import { BookingCreated, BookingRescheduled, type BookingSnapshot } from '../../src/bookings/bookings.events.js';
import { newEventId } from '../../src/platform/events/domain-event.js';
import { UnitOfWork } from '../../src/platform/unit-of-work/unit-of-work.js';
import { DeliverySchedule } from '../../src/notifications/delivery/delivery-schedule.js';
import { ResendNotification, StartJob } from '../../src/notifications/error-queue/error-queue.commands.js';
import {
  CreateSubscription,
  ResumeSubscription,
  SuspendSubscription,
} from '../../src/notifications/subscriptions/subscriptions.commands.js';
import { SimulatedPartners } from './partners.js';
import type { SimulatedService, Surroundings } from './service.js';
import { processOf, type SimulatedTime } from './simulated-time.js';
import { Chance, type Turns } from './turns.js';

const BOOKINGS = 4;
const EVENTS = 3;
const ACTIONS = 260;
const PULSE_MS = 250;
const SWEEP_MS = 1_000;
/** Longer than any lease: the wait time and 20 s. */
const LEAP_MS = 26_000;
const HEAL_MS = 15 * 60_000;

interface Booking {
  readonly code: string;
  committed: number;
  busy: boolean;
}

/** One story of two processes, two partners and a few bookings, told by a seed. */
export class Simulation {
  private readonly chance: Chance;
  private readonly partners: SimulatedPartners;
  private readonly account: string;
  private readonly urls = ['https://127.0.0.1:1/a', 'https://127.0.0.1:1/b'];
  private readonly subscriptions: string[] = [];
  private readonly bookings: Booking[] = [];
  private readonly asked = new Set<string>();
  private nextPulse = 0;
  private nextSweep = 0;
  readonly log: string[] = [];

  constructor(
    seed: number,
    private readonly service: SimulatedService,
    private readonly time: SimulatedTime,
    private readonly turns: Turns,
    private readonly around: Surroundings,
  ) {
    this.chance = new Chance(seed);
    this.account = `S${String(seed).padStart(11, '0')}`;
    this.partners = new SimulatedPartners(this.chance, time, turns);
    for (let n = 0; n < BOOKINGS; n++)
      this.bookings.push({ code: `${this.account}${n}`.slice(-10), committed: 0, busy: false });
  }

  get attempts(): number {
    return this.partners.attempts;
  }

  /** The promise that was broken, else null. */
  async run(): Promise<string | null> {
    await this.prepare();
    Object.assign(this.around, { chance: this.chance, partners: this.partners, databaseFaults: 0, running: true });
    try {
      for (let n = 0; n < ACTIONS && this.partners.broken === null; n++) await this.act();
      if (this.partners.broken === null) await this.heal();
      if (this.partners.broken === null) await this.judge();
    } finally {
      this.around.running = false;
    }
    return this.partners.broken?.message ?? null;
  }

  private async prepare(): Promise<void> {
    for (const table of ['deliveries', 'domain_events', 'notifications', 'subscriptions'])
      await this.service.rows(`DELETE FROM ${table}`);
    await this.service.rows(`INSERT INTO accounts (account_code, name) VALUES ($1, 'Simulated')`, [this.account]);
    for (const partner_url of this.urls) {
      const body = { account_code: this.account, partner_url, wait_ms: 1000 };
      const { subscription } = await this.bus(0).execute(new CreateSubscription(body));
      await this.service.rows(`UPDATE subscriptions SET state = 'ACTIVE' WHERE id = $1`, [subscription.id]);
      this.subscriptions.push(subscription.id);
    }
  }

  private async act(): Promise<void> {
    const { chance, turns, partners, around } = this;
    if (turns.hasAny && chance.hits(0.7)) return turns.release(chance);
    const dice = chance.next();
    if (dice < 0.5) return this.pass(chance.below(200));
    if (dice < 0.78) return this.commit(chance.pick(this.bookings));
    if (dice < 0.82) return this.toggle(partners.down, chance.pick(this.urls), 'down');
    if (dice < 0.86) return this.operate(chance.below(2));
    if (dice < 0.89) return this.resend();
    if (dice < 0.92) return this.stopOrContinue(chance.below(2));
    if (dice < 0.94) return this.leap();
    around.databaseFaults = chance.hits(0.5) ? 0.08 : 0;
  }

  /** Time passes, and the rounds of both processes begin. */
  private async pass(ms: number): Promise<void> {
    this.time.advance(ms, (process) => this.turns.isStopped(process));
    await this.service.setClock(this.time.now);
    for (const process of [0, 1]) {
      const schedule = this.service.apps[process].get(DeliverySchedule);
      if (this.turns.isStopped(process)) continue;
      if (this.time.ms >= this.nextPulse) processOf.run(process, () => void schedule.pulse());
      if (this.time.ms >= this.nextSweep) processOf.run(process, () => void schedule.sweep());
    }
    if (this.time.ms >= this.nextPulse) this.nextPulse = this.time.ms + PULSE_MS;
    if (this.time.ms >= this.nextSweep) this.nextSweep = this.time.ms + SWEEP_MS;
    await this.turns.quiet();
  }

  private async commit(booking: Booking): Promise<void> {
    if (booking.busy || booking.committed === EVENTS) return;
    booking.busy = true;
    const sequence = booking.committed + 1;
    const [process, Event] = [this.chance.below(2), sequence === 1 ? BookingCreated : BookingRescheduled];
    const meta = {
      eventId: newEventId(),
      accountCode: this.account,
      stream: booking.code,
      sequence,
      occurredAt: this.time.now,
      traceparent: null,
    };
    this.log.push(`commit ${booking.code} ${sequence}`);
    const unitOfWork = this.service.apps[process].get(UnitOfWork);
    const raise = () =>
      unitOfWork.run(() => Promise.resolve(unitOfWork.raise(new Event(snapshot(booking.code), meta))));
    void processOf.run(process, raise).then(
      () => Object.assign(booking, { committed: sequence, busy: false }),
      () => (booking.busy = false),
    );
    await this.turns.quiet();
  }

  private toggle(set: Set<string>, url: string, what: string): void {
    if (!set.delete(url)) set.add(url);
    this.log.push(`${url} ${what}: ${set.has(url)}`);
  }

  /** Suspends the partner, or resumes it. */
  private async operate(partner: number): Promise<void> {
    const [id, url] = [this.subscriptions[partner], this.urls[partner]];
    if (this.asked.has(id)) return;
    this.asked.add(id);
    if (this.partners.suspended.delete(url)) {
      this.log.push(`resume ${url}`);
      this.execute(new ResumeSubscription(id), () => this.asked.delete(id));
    } else {
      this.log.push(`suspend ${url}`);
      this.execute(new SuspendSubscription(id), (error) => {
        if (error === null) this.partners.suspended.add(url);
        this.asked.delete(id);
      });
    }
    await this.turns.quiet();
  }

  /** One event of the queue, or all of it as a job. */
  private async resend(): Promise<void> {
    const [queued] = await this.service.rows(
      `SELECT id FROM notifications WHERE state = 'ERROR_QUEUE' ORDER BY position LIMIT 1`,
    );
    if (queued === undefined) return;
    this.log.push('resend');
    this.partners.excuseAll();
    const filter = { account_code: this.account };
    if (this.chance.hits(0.5)) this.execute(new ResendNotification(String(queued['id']), null), () => undefined);
    else this.execute(new StartJob('RESEND', filter, 'simulated', false), () => undefined);
    await this.turns.quiet();
  }

  private execute(command: object, then: (error: unknown) => void): void {
    void processOf
      .run(0, () => this.bus(0).execute(command as never))
      .then(
        () => then(null),
        (error: unknown) => then(error),
      );
  }

  private stopOrContinue(process: number): void {
    this.partners.disturbed = true;
    if (this.turns.isStopped(process)) this.turns.continue(process);
    else this.turns.stop(process);
    this.log.push(`process ${process} stopped: ${this.turns.isStopped(process)}`);
  }

  /** Longer than any lease, for whoever is in the middle of something. */
  private async leap(): Promise<void> {
    this.partners.disturbed = true;
    this.log.push('leap');
    await this.pass(LEAP_MS);
  }

  /** All is well again: what was committed must arrive without anybody's doing. */
  private async heal(): Promise<void> {
    this.log.push('heal');
    this.partners.healthy = true;
    this.around.databaseFaults = 0;
    for (const process of [0, 1]) this.turns.continue(process);
    const until = this.time.ms + HEAL_MS;
    for (let n = 0; this.partners.broken === null; n++) {
      while (this.turns.hasAny && this.partners.broken === null) await this.turns.release(this.chance);
      if (n % 4 === 0 && (await this.isSettled())) return;
      if (this.time.ms > until) return this.partners.breaks('something is never delivered');
      for (const [partner, url] of this.urls.entries())
        if (this.partners.suspended.has(url) && this.asked.size === 0) await this.operate(partner);
      await this.pass(n < 100 ? PULSE_MS : 5_000);
    }
  }

  private async isSettled(): Promise<boolean> {
    const [row] = await this.service.rows(
      `SELECT (SELECT count(*) FROM deliveries)::int + (SELECT count(*) FROM domain_events WHERE settled_at IS NULL)::int
         + (SELECT count(*) FROM subscriptions WHERE state = 'SUSPENDED')::int AS left`,
    );
    return row['left'] === 0 && this.asked.size === 0 && !this.bookings.some(({ busy }) => busy);
  }

  /** Every event is at both partners, or waits for an operator; and what counts as delivered is. */
  private async judge(): Promise<void> {
    const rows = await this.service.rows(
      `SELECT s.partner_url, n.booking_code, n.event_sequence, n.state, n.retry
       FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id`,
    );
    const stored = new Map(
      rows.map((row) => [`${row['partner_url']} ${row['booking_code']} ${row['event_sequence']}`, row]),
    );
    const events = await this.service.rows('SELECT stream, sequence FROM domain_events');
    for (const url of this.urls)
      for (const { stream, sequence } of events) {
        const row = stored.get(`${url} ${stream} ${sequence}`);
        const accepted = this.partners.of(url, stream as string).get(sequence as number)?.accepted === true;
        if (row === undefined) this.partners.breaks('a partner was never told of an event');
        else if (row['state'] === 'DELIVERED' && !accepted) this.partners.breaks('DELIVERED without a 200');
        else if (row['state'] !== 'DELIVERED' && row['retry'] !== 'MANUAL')
          this.partners.breaks('neither delivered nor queued');
      }
  }

  private bus(process: number): CommandBus {
    return this.service.apps[process].get(CommandBus, { strict: false });
  }
}

function snapshot(booking_code: string): BookingSnapshot {
  return {
    booking_code,
    booking_on: '2030-01-01T09:00:00Z',
    candidate_fname: 'Ada',
    candidate_mname: null,
    candidate_lname: 'Lovelace',
    candidate_id: 'ADA-1',
    client_eligibility_id: null,
    delivery_mode: 'SVC_REMOTE_PROCTORED',
    exam_code: null,
    exam_portions: [],
    location_code: null,
    location_name: null,
    location_address: null,
    location_timezone: null,
  };
}
