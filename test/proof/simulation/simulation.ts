import { createRequire } from 'node:module';
import { DeliverySchedule } from '../../../src/notifications/delivery/delivery-schedule.js';
import { RECORD_CHANGES, type RecordChangeName } from '../../../src/platform/changes/change.entity.js';
import { PollWaiters } from '../../../src/notifications/partner-side/poll-waiters.js';
import { CreateSubscription } from '../../../src/notifications/subscriptions/subscriptions.commands.js';
import { SimulatedBookings } from './bookings.js';
import { Judge } from './judge.js';
import { SimulatedOperators } from './operators.js';
import { SimulatedPollers } from './pollers.js';
import { SimulatedRecords } from './records.js';
import type { SimulatedService, Surroundings } from './service.js';
import { processOf, type SimulatedTime } from './simulated-time.js';
import { Story } from './story.js';
import { Chance, type FairSemaphore } from './turns.js';

// The compiled sources read these functions from the module at each call, so that the simulation can replace them.
const nodeCrypto = createRequire(__filename)('node:crypto') as {
  randomUUID: () => string;
  randomInt: (below: number) => number;
};

const ACTIONS = 340;
const PULSE_MS = 250;
const SWEEP_MS = 1_000;
/** The length of a leap in simulated time. It exceeds the length of any lease, which is the wait time plus 20 s. */
const LEAP_MS = 26_000;
const HEAL_MS = 15 * 60_000;
/** The index of the partner that polls when a run begins. */
const POLLING = 2;

/**
 * The record changes about which each subscription is notified. The subscriptions are in the order of the partners'
 * addresses.
 */
const SELECTED_CHANGES: readonly (readonly RecordChangeName[])[] = [
  RECORD_CHANGES,
  ['HELD', 'RELEASED', 'RESULT_HELD'],
  RECORD_CHANGES,
];

/** A run of two processes, three partners, and a few bookings and records. A seed determines the run. */
export class Simulation {
  private readonly story: Story;
  private readonly bookings: SimulatedBookings;
  private readonly records: SimulatedRecords;
  private readonly pollers: SimulatedPollers;
  private readonly operators: SimulatedOperators;
  private readonly judge: Judge;
  private nextPulse = 0;
  private nextSweep = 0;

  constructor(
    seed: number,
    private readonly service: SimulatedService,
    private readonly time: SimulatedTime,
    private readonly turns: FairSemaphore,
    private readonly around: Surroundings,
  ) {
    this.story = new Story(seed, service, time, turns);
    this.bookings = new SimulatedBookings(this.story);
    this.records = new SimulatedRecords(this.story);
    this.pollers = new SimulatedPollers(this.story, this.story.urls[POLLING]);
    this.operators = new SimulatedOperators(this.story);
    this.judge = new Judge(this.story);
  }

  get attempts(): number {
    return this.story.partners.attempts;
  }

  get log(): readonly string[] {
    return this.story.log;
  }

  /**
   * Runs the simulation. Returns a description of the first broken delivery guarantee; null if every guarantee held.
   */
  async run(): Promise<string | null> {
    const { chance, partners } = this.story;
    await this.prepare();
    Object.assign(this.around, { chance, partners, databaseFaults: 0, running: true });
    try {
      for (let n = 0; n < ACTIONS && partners.broken === null; n++) {
        await this.act();
        await this.judge.lookInto();
      }
      if (partners.broken === null) await this.heal();
      if (partners.broken === null) await this.operators.assertAllStopped();
      if (partners.broken === null) await this.judge.judge();
      if (partners.broken !== null) await this.judge.tellWhatIsStored();
    } finally {
      this.around.running = false;
    }
    return partners.broken?.message ?? null;
  }

  /** Removes the previous run's data, and seeds the random numbers. */
  private async prepare(): Promise<void> {
    const { account, chance, partners, subscriptions, urls } = this.story;
    for (const process of [0, 1]) this.turns.continue(process);
    await this.turns.quiet();
    while (this.turns.hasAny) await this.turns.release(new Chance(0));
    nodeCrypto.randomUUID = () => this.uuid();
    nodeCrypto.randomInt = (below) => chance.below(below);
    Math.random = () => chance.next();
    // The tables are emptied by TRUNCATE instead of DELETE, so that the physical order of rows does not depend on
    // earlier runs.
    await this.service.rows(
      `TRUNCATE poll_offers, job_items, job_parts, jobs, deliveries, domain_events, notification_attempts, notifications,
         error_queue_causes, subscriptions, event_listeners, event_streams, eligibilities RESTART IDENTITY CASCADE`,
    );
    await this.service.rows(`INSERT INTO accounts (account_code, name) VALUES ($1, 'Simulated')`, [account]);
    for (const [index, partner_url] of urls.entries()) {
      const record_changes = [...SELECTED_CHANGES[index]];
      const body = { account_code: account, partner_url, wait_ms: 1000, record_changes };
      const { subscription } = await this.service.execute(new CreateSubscription(body));
      await this.service.rows(`UPDATE subscriptions SET state = 'ACTIVE' WHERE id = $1`, [subscription.id]);
      subscriptions.push(subscription.id);
    }
    await this.service.rows(`UPDATE subscriptions SET delivery = 'POLL', verified_url = partner_url WHERE id = $1`, [
      subscriptions[POLLING],
    ]);
    partners.ways.set(urls[POLLING], { delivery: 'POLL' });
    await this.records.prepare();
  }

  private async act(): Promise<void> {
    const { turns, around, operators } = this;
    const { chance, partners, urls } = this.story;
    if (turns.hasAny && chance.hits(0.7)) return turns.release(chance);
    const dice = chance.next();
    if (dice < 0.42) return this.pass(chance.below(200));
    if (dice < 0.57) return this.bookings.commit();
    if (dice < 0.64) return this.records.act();
    if (dice < 0.72) return this.pollers.act();
    if (dice < 0.74) return operators.turn(POLLING);
    if (dice < 0.78) return this.toggle(partners.down, chance.pick(urls), 'down');
    if (dice < 0.82) return operators.suspendOrResume(chance.below(urls.length));
    if (dice < 0.84) return operators.resend();
    if (dice < 0.865) return operators.startJob();
    if (dice < 0.89) return operators.steerJob();
    if (dice < 0.92) return this.stopOrContinue(chance.below(2));
    if (dice < 0.94) return this.leap();
    around.databaseFaults = chance.hits(0.5) ? 0.08 : 0;
  }

  /** Advances the simulated time and starts the periodic rounds of both processes. */
  private async pass(ms: number): Promise<void> {
    await this.turns.expire(this.time.ms + ms);
    this.time.advance(ms, (process) => this.turns.isStopped(process));
    await this.service.setClock(this.time.now);
    for (const process of [0, 1]) {
      const schedule = this.service.apps[process].get(DeliverySchedule);
      if (this.turns.isStopped(process)) continue;
      if (this.time.ms >= this.nextPulse) processOf.run(process, () => void schedule.pulse());
      if (this.time.ms < this.nextSweep) continue;
      processOf.run(process, () => void schedule.sweep());
      processOf.run(process, () => void this.service.apps[process].get(PollWaiters, { strict: false }).look());
    }
    if (this.time.ms >= this.nextPulse) this.nextPulse = this.time.ms + PULSE_MS;
    if (this.time.ms >= this.nextSweep) this.nextSweep = this.time.ms + SWEEP_MS;
    await this.turns.quiet();
  }

  private toggle(set: Set<string>, url: string, what: string): void {
    if (!set.delete(url)) set.add(url);
    this.story.tell(`${url} ${what}: ${set.has(url)}`);
  }

  private stopOrContinue(process: number): void {
    this.story.partners.disturbed = true;
    if (this.turns.isStopped(process)) this.turns.continue(process);
    else this.turns.stop(process);
    this.story.tell(`process ${process} stopped: ${this.turns.isStopped(process)}`);
  }

  /** Advances the time by more than the length of any lease, while work is running. */
  private async leap(): Promise<void> {
    this.story.partners.disturbed = true;
    this.story.tell('leap');
    await this.pass(LEAP_MS);
  }

  /**
   * Ends all simulated failures, and lets time pass until nothing is left to deliver. Fails the run if this takes too
   * long.
   */
  private async heal(): Promise<void> {
    const { chance, partners } = this.story;
    this.story.tell('heal');
    partners.healthy = true;
    this.around.databaseFaults = 0;
    for (const process of [0, 1]) this.turns.continue(process);
    const until = this.time.ms + HEAL_MS;
    for (let n = 0; partners.broken === null; n++) {
      while (this.turns.hasAny && partners.broken === null) await this.turns.release(chance);
      await this.judge.lookInto();
      if (n % 4 === 0 && (await this.isSettled())) return;
      if (this.time.ms > until) return partners.breaks('something is never delivered');
      if (n === 0 || !partners.isPushed(this.story.urls[POLLING])) await this.pollers.drain(n === 0);
      if (n % 4 === 1 && !this.operators.isBusy) await this.operators.resumeAll();
      if (n % 4 === 3 && !this.operators.isBusy) await this.operators.resumeJobs();
      await this.pass(n < 100 ? PULSE_MS : 5_000);
    }
  }

  private async isSettled(): Promise<boolean> {
    const isDone = await this.judge.isAllDone();
    return isDone && !this.operators.isBusy && !this.bookings.isBusy && !this.records.isBusy && !this.pollers.isBusy;
  }

  private uuid(): `${string}-${string}-${string}-${string}-${string}` {
    const digits = (n: number) => Array.from({ length: n }, () => this.story.chance.below(16).toString(16)).join('');
    return `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
  }
}
