import { SimulatedPartners } from './partners.js';
import type { SimulatedService } from './service.js';
import type { SimulatedTime } from './simulated-time.js';
import { Chance, type FairSemaphore } from './turns.js';

/** The participants of a simulation run, and the list of what has happened so far. */
export class Story {
  readonly chance: Chance;
  readonly account: string;
  /** The partners' addresses. Operators switch the last partner between the delivery modes PUSH and POLL. */
  readonly urls = ['https://127.0.0.1:1/a', 'https://127.0.0.1:1/b', 'https://127.0.0.1:1/c'];
  /** The subscriptions' ids, in the order of the addresses. */
  readonly subscriptions: string[] = [];
  readonly partners: SimulatedPartners;
  readonly log: string[] = [];

  constructor(
    seed: number,
    readonly service: SimulatedService,
    readonly time: SimulatedTime,
    readonly turns: FairSemaphore,
  ) {
    this.chance = new Chance(seed);
    this.account = `S${String(seed).padStart(11, '0')}`;
    this.partners = new SimulatedPartners(this.chance, time, turns, (line) => this.tell(line));
  }

  tell(line: string): void {
    this.log.push(`${String(this.time.ms).padStart(9)} ${line}`);
  }
}
