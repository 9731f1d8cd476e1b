import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from './clock.js';
import { acrossAccounts, Database } from './database/database.js';
import { IDEMPOTENCY_KEY_LIFE_HOURS } from './unit-of-work/idempotency.js';
import { Logger } from './observability/logger.js';
import { sweep } from './sweep.js';

const BATCH = 1000;
const SETTLED_EVENT_DAYS = 7;

const CHORES = [
  `DELETE FROM idempotency_keys WHERE ctid IN (
     SELECT ctid FROM idempotency_keys
     WHERE created_at < now() - interval '${IDEMPOTENCY_KEY_LIFE_HOURS} hours' LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM domain_events WHERE event_id IN (
     SELECT event_id FROM domain_events
     WHERE settled_at < now() - interval '${SETTLED_EVENT_DAYS} days' LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
];

/** Deletes expired rows of the platform's tables. The batches are short, so that they do not delay requests. */
@Injectable()
export class Housekeeping {
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    clock: Clock,
  ) {
    clock.follow({ catchUp: () => this.run() });
  }

  @Interval(60_000)
  async run(): Promise<void> {
    const batches = CHORES.map((text) => () => this.database.execute({ text, across: acrossAccounts.sweep }));
    await sweep(this.logger, 'expired rows', BATCH, batches);
  }
}
