import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { acrossAccounts, Database, prepared } from '../database/database.js';
import { Logger } from '../observability/logger.js';

const SEAL_EVERY_MS = 3_000;
/** So many keep the event loop for 2 ms. */
const BATCH = 250;
const DIGEST_BYTES = 8;
/** What stands before the first seal. */
const NO_SEAL = Buffer.alloc(32);

const LAST = prepared(
  'audit-seal-last',
  `SELECT hash, through, settled FROM audit_seals ORDER BY seal_id DESC LIMIT 1`,
);

/**
 * The newest seal whose ids nobody comes below any more: every transaction of its time is over. A row has its id a moment
 * before its transaction has a number: hence the seconds. Numbers start anew in a restored database: hence the minutes.
 */
const SETTLED = prepared(
  'audit-seal-settled',
  `SELECT seal_id FROM audit_seals
  WHERE horizon <= pg_snapshot_xmin(pg_current_snapshot())::text::bigint AND at < now() - interval '10 seconds'
     OR at < now() - interval '10 minutes'
  ORDER BY seal_id DESC LIMIT 1`,
);

/** A row as a text that is the same whoever asks; see {@link digestOf}. */
export const SEALED_ROW = `id, json_build_array(id, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), actor,
  application, account_code, action, subject, request_id, changed, count, address)::text AS text`;

const NEW_ROWS = prepared(
  'audit-seal-new-rows',
  `SELECT ${SEALED_ROW} FROM audit_log WHERE id > $1 ORDER BY id LIMIT ${BATCH}`,
  acrossAccounts.sealing,
);

const LATE_ROWS = prepared(
  'audit-seal-late-rows',
  `SELECT ${SEALED_ROW} FROM audit_log
   WHERE id <= $1 AND id > coalesce((SELECT through FROM audit_seals WHERE seal_id = $2), 0)
     AND id NOT IN (SELECT unnest(ids) FROM audit_seals WHERE seal_id > coalesce($2, 0))
   ORDER BY id LIMIT ${BATCH}`,
  acrossAccounts.sealing,
);

const ADD = prepared(
  'audit-seal-add',
  `INSERT INTO audit_seals (before, ids, digests, hash, through, settled, horizon)
   VALUES ($1, $2, $3, $4, $5, $6, pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
   ON CONFLICT ON CONSTRAINT audit_seals_before_key DO NOTHING`,
);

export interface SealedRow {
  id: number;
  text: string;
}

/**
 * Seals the audit rows in the background, so that no write waits for another.
 *
 * 1. Every few seconds each process takes the rows that no seal has yet. One seal follows another: of two that would follow
 *    the same one, a constraint lets the first in.
 * 2. A seal lists their ids, a short digest of each, and a hash over the seal before and all of them: from the first row
 *    that is changed, taken away or put between on, no later seal agrees (audit-verification.ts).
 * 3. Ids are given before COMMIT: a row may appear below ids that are sealed already. It is looked for until every
 *    transaction of a seal's time is over, once more after that, and stands in a later seal. `settled` is the seal up to
 *    which the look that made a seal needed no other.
 *
 * Never order seals by anything but `seal_id`, nor seal a row twice.
 */
@Injectable()
export class AuditSeals {
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
  ) {}

  @Interval(SEAL_EVERY_MS)
  async seal(): Promise<void> {
    try {
      while ((await this.sealBatch()) >= BATCH);
    } catch (error) {
      this.logger.warn({ err: error }, 'audit rows could not be sealed; the next round tries again');
    }
  }

  private async sealBatch(): Promise<number> {
    const last = await this.database.queryOne<{ hash: Buffer; through: number; settled: number | null }>(LAST);
    // Asked before the look: whoever is over by now is seen by it.
    const settled = await this.database.queryOne<{ seal_id: number }>(SETTLED);
    const through = last?.through ?? 0;
    const rows = await this.database.query<SealedRow>(NEW_ROWS, [through]);
    // Behind by more than a batch, there is no hurry to look for what came late.
    if (rows.length < BATCH)
      rows.unshift(...(await this.database.query<SealedRow>(LATE_ROWS, [through, last?.settled ?? null])));
    if (rows.length === 0) return 0;
    const before = last?.hash ?? NO_SEAL;
    const added = await this.database.execute(ADD, [
      before,
      rows.map(({ id }) => id),
      Buffer.concat(rows.map(digestOf)),
      sealOf(before, rows),
      Math.max(through, ...rows.map(({ id }) => id)),
      settled?.seal_id ?? null,
    ]);
    return added === 0 ? 0 : rows.length;
  }
}

export function digestOf({ text }: SealedRow): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES);
}

/** @param before the seal before; none: the first */
export function sealOf(before: Buffer | null, rows: readonly SealedRow[]): Buffer {
  const hash = createHash('sha256').update(before ?? NO_SEAL);
  for (const { text } of rows) hash.update(text).update('\n');
  return hash.digest();
}

/** The place of a row in `digests`. */
export function digestAt(digests: Buffer, index: number): Buffer {
  return digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
}
