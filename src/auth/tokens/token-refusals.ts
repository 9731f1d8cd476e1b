import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Database, prepared } from '../../platform/database/database.js';
import type { ClientNetwork } from '../../platform/overload/address.js';
import { Logger } from '../../platform/observability/logger.js';
import { sweep } from '../../platform/sweep.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { Pseudonyms } from './pseudonyms.js';

const WINDOW_S = 60;
const CHECK_EVERY_MS = 2_000;
const BATCH = 500;

const IS_USER = prepared('token-refusal-is-user', 'SELECT 1 FROM users WHERE username = $1');

const COUNT = prepared(
  'token-refusal-count',
  `INSERT INTO token_refusals AS before (consumer_key, address_mac, since, refused, name)
   VALUES ($1, $2, now(), 1, $3)
   ON CONFLICT ON CONSTRAINT token_refusals_pk DO UPDATE SET
     refused = before.refused + 1, name = CASE WHEN before.name = excluded.name THEN before.name END`,
);

const TAKE_OVER = prepared(
  'token-refusals-take',
  `DELETE FROM token_refusals WHERE (consumer_key, address_mac) IN (
     SELECT consumer_key, address_mac FROM token_refusals
     WHERE since <= now() - make_interval(secs => ${WINDOW_S}) LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
   RETURNING consumer_key, address_mac, refused, name`,
);

interface Refusals {
  consumer_key: string;
  address_mac: Buffer;
  refused: number;
  name: string | null;
}

/**
 * Summarizes refused password grants in `token.refused` audit entries.
 *
 * 1. A refused grant is counted in the row of its application and address. The row exists for a minute from the first
 *    refusal.
 * 2. The first process that finds the row after the minute replaces it with one audit entry that contains the count, in
 *    one transaction. A flood of requests therefore cannot fill a table.
 * 3. The audit entry contains the user name only if the user exists. Any other text may be a password, and is stored as
 *    a pseudonym, like the address.
 */
@Injectable()
export class TokenRefusals {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly pseudonyms: Pseudonyms,
    private readonly logger: Logger,
  ) {}

  async count(consumerKey: string, network: ClientNetwork, username: string): Promise<void> {
    const isUser = (await this.database.queryOne(IS_USER, [username])) !== null;
    const name = isUser ? username : `name:${short(this.pseudonyms.of('username', username))}`;
    await this.database.execute(COUNT, [consumerKey, this.pseudonyms.of('address', network), name]);
  }

  /** Writes the audit entries for counts that began at least a minute ago. */
  @Interval(CHECK_EVERY_MS)
  async write(): Promise<void> {
    await sweep(this.logger, 'refused token requests', BATCH, [() => this.unitOfWork.run(() => this.writeBatch())]);
  }

  private async writeBatch(): Promise<number> {
    const over = await this.database.query<Refusals>(TAKE_OVER);
    for (const { consumer_key, address_mac, refused, name } of over)
      this.unitOfWork.audit('token.refused', name ?? 'several', {
        actor: name ?? 'several',
        application: consumer_key,
        count: refused,
        address: `address:${short(address_mac)}`,
      });
    return over.length;
  }
}

/** Returns the first characters of a pseudonym, in a form that no user name can have. */
function short(pseudonym: Buffer): string {
  return pseudonym.toString('hex').slice(0, 16);
}
