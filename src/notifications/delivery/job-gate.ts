import { setImmediate as turn } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.js';
import type { Logger } from '../../platform/observability/logger.js';
import type { Claimed } from './delivery-statements.js';
import { BEGIN_ITEMS } from './job-statements.js';

/** A claimed notification of a bulk job. */
type Item = Pick<Claimed, 'job_id' | 'subscription_id' | 'position' | 'lease_token'>;

/**
 * Asks the database, just before an attempt, whether a notification of a bulk job may still be sent. After an operator
 * has paused the job, or the partner has failed, no further attempt therefore starts. Only started attempts count as
 * sent. One statement asks about all notifications that arrive in one turn of the event loop.
 */
export class JobGate {
  private waiting: Item[] = [];
  private next: Promise<ReadonlySet<number>> | null = null;

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
  ) {}

  async mayBegin(item: Item): Promise<boolean> {
    this.waiting.push(item);
    this.next ??= this.ask();
    return (await this.next).has(item.position);
  }

  private async ask(): Promise<ReadonlySet<number>> {
    await turn();
    const items = this.waiting;
    this.waiting = [];
    this.next = null;
    try {
      const allowed = await this.database.query<{ position: number }>(BEGIN_ITEMS, [
        items.map((item) => item.job_id),
        items.map((item) => item.subscription_id),
        items.map((item) => item.position),
        items.map((item) => item.lease_token),
      ]);
      return new Set(allowed.map(({ position }) => position));
    } catch (error) {
      this.logger.warn({ err: error }, 'items of bulk jobs could not begin; they are claimed again');
      return new Set();
    }
  }
}
