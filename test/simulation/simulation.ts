import { createRequire } from 'node:module';
import { CommandBus } from '@nestjs/cqrs';
import { BookingCreated, BookingRescheduled, type BookingSnapshot } from '../../src/bookings/bookings.events.js';
import { newEventId } from '../../src/platform/events/domain-event.js';
import { UnitOfWork } from '../../src/platform/unit-of-work/unit-of-work.js';
import { DeliverySchedule } from '../../src/notifications/delivery/delivery-schedule.js';
import { ResendNotification, StartJob, SteerJob } from '../../src/notifications/error-queue/error-queue.commands.js';
import {
  CreateSubscription,
  ResumeSubscription,
  SuspendSubscription,
} from '../../src/notifications/subscriptions/subscriptions.commands.js';
import { SimulatedPartners } from './partners.js';
import type { SimulatedService, Surroundings } from './service.js';
import { processOf, type SimulatedTime } from './simulated-time.js';
import { Chance, type Turns } from './turns.js';

// The compiled sources read it at each call.
const nodeCrypto = createRequire(__filename)('node:crypto') as { randomUUID: () => string };

const BOOKINGS = 4;
const EVENTS = 3;
const ACTIONS = 260;
const PULSE_MS = 250;
const SWEEP_MS = 1_000;
/** Longer than any lease: the wait time and 20 s. */
const LEAP_MS = 26_000;
const HEAL_MS = 15 * 60_000;

interface Subject {
  readonly id: string;
  readonly url: string;
  readonly booking: string;
  readonly sequence: number;
}

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
  /** Jobs whose pause or abort was answered, and how much of them had begun by then. */
  private readonly stopped = new Map<string, number>();
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
    this.partners = new SimulatedPartners(this.chance, time, turns, (line) => this.tell(line));
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
      for (let n = 0; n < ACTIONS && this.partners.broken === null; n++) {
        await this.act();
        await this.lookInto();
      }
      if (this.partners.broken === null) await this.heal();
      if (this.partners.broken === null) await this.judge();
      if (this.partners.broken !== null) await this.tellWhatIsStored();
    } finally {
      this.around.running = false;
    }
    return this.partners.broken?.message ?? null;
  }

  /** Nothing is left of the story before, and what is made by chance is made by the seed's. */
  private async prepare(): Promise<void> {
    for (const process of [0, 1]) this.turns.continue(process);
    await this.turns.quiet();
    while (this.turns.hasAny) await this.turns.release(new Chance(0));
    nodeCrypto.randomUUID = () => this.uuid();
    Math.random = () => this.chance.next();
    // Not by DELETE: where its rows lie tells nothing of the stories before either.
    await this.service.rows(
      `TRUNCATE job_items, job_parts, jobs, deliveries, domain_events, notification_attempts, notifications,
         error_queue_causes, subscriptions RESTART IDENTITY`,
    );
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
    if (dice < 0.74) return this.commit(chance.pick(this.bookings));
    if (dice < 0.78) return this.toggle(partners.down, chance.pick(this.urls), 'down');
    if (dice < 0.82) return this.operate(chance.below(2));
    if (dice < 0.84) return this.resend();
    if (dice < 0.865) return this.startJob();
    if (dice < 0.89) return this.steerJob();
    if (dice < 0.92) return this.stopOrContinue(chance.below(2));
    if (dice < 0.94) return this.leap();
    around.databaseFaults = chance.hits(0.5) ? 0.08 : 0;
  }

  /** Time passes, and the rounds of both processes begin. */
  private async pass(ms: number): Promise<void> {
    await this.turns.expire(this.time.ms + ms);
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
    this.tell(`commit ${booking.code} ${sequence}`);
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
    this.tell(`${url} ${what}: ${set.has(url)}`);
  }

  /** Suspends the partner, or resumes it. */
  private async operate(partner: number): Promise<void> {
    const [id, url] = [this.subscriptions[partner], this.urls[partner]];
    if (this.asked.has(id)) return;
    this.asked.add(id);
    if (this.partners.suspended.delete(url)) {
      this.tell(`resume ${url}`);
      this.execute(new ResumeSubscription(id), () => void this.asked.delete(id));
    } else {
      this.tell(`suspend ${url}`);
      this.execute(new SuspendSubscription(id), (error) => {
        if (error === null) this.partners.suspended.add(url);
        else this.tell(`suspend ${url}: ${(error as Error).message}`);
        this.asked.delete(id);
      });
    }
    await this.turns.quiet();
  }

  /** One event of the queue. */
  private async resend(): Promise<void> {
    const queued = await this.subjects(`n.state = 'ERROR_QUEUE'`);
    if (queued.length === 0) return;
    const { id, url, booking, sequence } = this.chance.pick(queued);
    this.tell(`resend ${url} ${booking} ${sequence}`);
    this.partners.ask(url, booking, sequence);
    this.execute(new ResendNotification(id, null));
    await this.turns.quiet();
  }

  /** A bulk job of all that waits, or of all that a partner was told. */
  private async startJob(): Promise<void> {
    const kind = this.chance.pick(['RESEND', 'RESEND', 'REPLAY', 'RESOLVE'] as const);
    const subscription_id = this.chance.pick(this.subscriptions);
    this.tell(`${kind} of ${this.urls[this.subscriptions.indexOf(subscription_id)]}`);
    this.execute(new StartJob(kind, { subscription_id }, 'simulated', false));
    await this.turns.quiet();
  }

  /** The operator's word on a job: once pause or abort is answered, nothing of it begins. */
  private async steerJob(): Promise<void> {
    const jobs = await this.jobs(`state IN ('PREPARING', 'RUNNING', 'PAUSED')`);
    if (jobs.length === 0) return;
    const { id } = this.chance.pick(jobs);
    const action = this.chance.pick(['pause', 'resume', 'abort'] as const);
    if (this.asked.has(id)) return;
    this.asked.add(id);
    this.tell(`${action} job ${id}`);
    await this.assertStopped(id);
    this.stopped.delete(id);
    this.execute(new SteerJob(id, action), async (error) => {
      this.asked.delete(id);
      if (error !== null || action === 'resume') return;
      const [job] = await this.jobs(`id = '${id}'`);
      this.stopped.set(id, job.sent);
    });
    await this.turns.quiet();
  }

  private async assertStopped(id: string): Promise<void> {
    const sent = this.stopped.get(id);
    if (sent === undefined) return;
    const [job] = await this.jobs(`id = '${id}'`);
    if (job.sent > sent) this.partners.breaks('an item of a job begins after its pause or abort was answered');
  }

  private async jobs(where: string): Promise<{ id: string; state: string; sent: number }[]> {
    const rows = await this.service.rows(
      `SELECT id, state, (SELECT coalesce(sum(p.sent), 0) FROM job_parts p WHERE p.job_id = jobs.id)::int AS sent
       FROM jobs WHERE ${where} ORDER BY position`,
    );
    return rows as { id: string; state: string; sent: number }[];
  }

  private async subjects(where: string): Promise<Subject[]> {
    const rows = await this.service.rows(
      `SELECT n.id, s.partner_url AS url, n.booking_code AS booking, n.event_sequence AS sequence
       FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id WHERE ${where} ORDER BY n.position`,
    );
    return rows as Subject[];
  }

  /** What is suspected is broken, unless a bulk job has to do with it. */
  private async lookInto(): Promise<void> {
    for (const { url, booking, sequences, promise } of this.partners.suspicions.splice(0)) {
      const rows = await this.service.rows(
        `SELECT FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id
         WHERE s.partner_url = $1 AND n.booking_code = $2 AND n.event_sequence = ANY ($3)
           AND EXISTS (SELECT FROM job_items i WHERE i.notification_position = n.position)`,
        [url, booking, sequences],
      );
      if (rows.length === 0) this.partners.breaks(promise);
    }
  }

  private execute(command: object, then: (error: unknown) => Promise<void> | void = () => undefined): void {
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
    this.tell(`process ${process} stopped: ${this.turns.isStopped(process)}`);
  }

  /** Longer than any lease, for whoever is in the middle of something. */
  private async leap(): Promise<void> {
    this.partners.disturbed = true;
    this.tell('leap');
    await this.pass(LEAP_MS);
  }

  /** All is well again: what was committed must arrive without anybody's doing. */
  private async heal(): Promise<void> {
    this.tell('heal');
    this.partners.healthy = true;
    this.around.databaseFaults = 0;
    for (const process of [0, 1]) this.turns.continue(process);
    const until = this.time.ms + HEAL_MS;
    for (let n = 0; this.partners.broken === null; n++) {
      while (this.turns.hasAny && this.partners.broken === null) await this.turns.release(this.chance);
      await this.lookInto();
      if (n % 4 === 0 && (await this.isSettled())) return;
      if (this.time.ms > until) return this.partners.breaks('something is never delivered');
      if (n % 4 === 1 && this.asked.size === 0) await this.resumeAll();
      if (n % 4 === 3 && this.asked.size === 0) await this.resumeJobs();
      await this.pass(n < 100 ? PULSE_MS : 5_000);
    }
  }

  /** Also those of which nobody was told that they are suspended. */
  private async resumeAll(): Promise<void> {
    const rows = await this.service.rows(`SELECT id, partner_url FROM subscriptions WHERE state = 'SUSPENDED'`);
    for (const { id, partner_url } of rows as { id: string; partner_url: string }[]) {
      this.partners.suspended.delete(partner_url);
      this.asked.add(id);
      this.tell(`resume ${partner_url}`);
      this.execute(new ResumeSubscription(id), () => void this.asked.delete(id));
    }
    await this.turns.quiet();
  }

  private async tellWhatIsStored(): Promise<void> {
    for (const { line } of await this.service.rows(
      `SELECT concat_ws(' ', s.partner_url, s.health, s.state, n.booking_code, n.event_sequence, n.state, n.retry, '/',
         d.trigger, d.job_id, d.lease_token, d.leased_until - simulated.clock_timestamp()) AS line
       FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id
         LEFT JOIN deliveries d ON d.subscription_id = s.id AND d.notification_position = n.position
       ORDER BY s.partner_url, n.booking_code, n.event_sequence`,
    ))
      this.tell(line as string);
  }

  private uuid(): `${string}-${string}-${string}-${string}-${string}` {
    const digits = (n: number) => Array.from({ length: n }, () => this.chance.below(16).toString(16)).join('');
    return `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
  }

  private tell(line: string): void {
    this.log.push(`${String(this.time.ms).padStart(9)} ${line}`);
  }

  private async resumeJobs(): Promise<void> {
    for (const { id } of await this.jobs(`state = 'PAUSED'`)) {
      await this.assertStopped(id);
      this.stopped.delete(id);
      this.asked.add(id);
      this.tell(`resume job ${id}`);
      this.execute(new SteerJob(id, 'resume'), () => void this.asked.delete(id));
    }
    await this.turns.quiet();
  }

  private async isSettled(): Promise<boolean> {
    const [row] = await this.service.rows(
      `SELECT (SELECT count(*) FROM deliveries)::int + (SELECT count(*) FROM domain_events WHERE settled_at IS NULL)::int
         + (SELECT count(*) FROM subscriptions WHERE state = 'SUSPENDED')::int
         + (SELECT count(*) FROM jobs WHERE state NOT IN ('DONE', 'ABORTED'))::int AS left`,
    );
    return row['left'] === 0 && this.asked.size === 0 && !this.bookings.some(({ busy }) => busy);
  }

  /** Every event is at both partners, or waits for an operator; what counts as delivered is; jobs end with their sums right. */
  private async judge(): Promise<void> {
    for (const id of this.stopped.keys()) await this.assertStopped(id);
    const [{ wrong }] = await this.service.rows(
      `SELECT count(*)::int AS wrong FROM job_parts p JOIN jobs j ON j.id = p.job_id
       WHERE p.sent <> p.delivered + p.failed OR j.state = 'DONE' AND p.waiting > 0`,
    );
    if (wrong !== 0) this.partners.breaks('a job has lost count of its items');
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
        else if (!['DELIVERED', 'RESOLVED'].includes(row['state'] as string) && row['retry'] !== 'MANUAL')
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
