import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { acrossAccounts, Database, prepared, type Statement } from '../platform/database/database.js';
import { Logger } from '../platform/observability/logger.js';
import { sweep } from '../platform/sweep.js';
import { Secrets } from '../platform/secrets.js';
import { withoutCredentials } from './result-body.js';
import { credentialsOf } from './result-store.js';
import { unmatchedCredentialsOf } from './unmatched-store.js';

const LOOK_EVERY_MS = 5_000;
const BATCH = 50;

interface Table {
  /** Keys of rows that are whole; the body of one; its new body, null when it stays, and its credentials. */
  readonly find: Statement;
  readonly read: Statement;
  readonly change: Statement;
  /** The primary key of a row that `find` answered with. */
  readonly key: (row: Record<string, unknown>) => unknown[];
  readonly purpose: (row: Record<string, unknown>) => string;
}

const TABLES: readonly Table[] = [
  {
    find: prepared(
      'result-revisions-whole',
      `SELECT svc_eligiblity_id, revision FROM result_revisions WHERE NOT credentials_apart LIMIT ${BATCH}`,
      acrossAccounts.sweep,
    ),
    read: prepared(
      'result-revision-whole',
      'SELECT body FROM result_revisions WHERE svc_eligiblity_id = $1 AND revision = $2 AND NOT credentials_apart',
      acrossAccounts.keyInHand,
    ),
    change: prepared(
      'result-revision-split',
      `UPDATE result_revisions SET credentials_apart = true, body = coalesce($3, body), credentials = $4
       WHERE svc_eligiblity_id = $1 AND revision = $2 AND NOT credentials_apart`,
      acrossAccounts.keyInHand,
    ),
    key: (row) => [row['svc_eligiblity_id'], row['revision']],
    purpose: (row) => credentialsOf(row['svc_eligiblity_id'] as string, row['revision'] as number),
  },
  {
    find: prepared(
      'unmatched-results-whole',
      `SELECT id FROM unmatched_results WHERE NOT credentials_apart LIMIT ${BATCH}`,
      acrossAccounts.sweep,
    ),
    read: prepared(
      'unmatched-result-whole',
      'SELECT body FROM unmatched_results WHERE id = $1 AND NOT credentials_apart',
      acrossAccounts.keyInHand,
    ),
    change: prepared(
      'unmatched-result-split',
      `UPDATE unmatched_results SET credentials_apart = true, body = coalesce($2, body), credentials = $3
       WHERE id = $1 AND NOT credentials_apart`,
      acrossAccounts.keyInHand,
    ),
    key: (row) => [row['id']],
    purpose: (row) => unmatchedCredentialsOf(row['id'] as string),
  },
];

/**
 * Takes the credentials out of the bodies that 0.1.0 kept whole, after the upgrade and while a process of it still works.
 * A row is done by itself, by a condition on what it was: any number of processes may do it, and a stop loses nothing.
 */
@Injectable()
export class CredentialsUpkeep {
  constructor(
    private readonly database: Database,
    private readonly secrets: Secrets,
    private readonly logger: Logger,
  ) {}

  @Interval(LOOK_EVERY_MS)
  async run(): Promise<void> {
    const batches = TABLES.map((table) => () => this.batch(table));
    await sweep(this.logger, 'credentials in results of 0.1.0', BATCH, batches);
  }

  private async batch({ find, read, change, key, purpose }: Table): Promise<number> {
    const rows = await this.database.query<Record<string, unknown>>(find);
    for (const row of rows) {
      const found = await this.database.queryOne<{ body: string }>(read, key(row));
      if (!found) continue;
      const { text, credentials } = withoutCredentials(found.body);
      const values = credentials === null ? [null, null] : [text, this.secrets.encrypt(credentials, purpose(row))];
      await this.database.execute(change, [...key(row), ...values]);
    }
    return rows.length;
  }
}
