import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { acrossAccounts, Database, prepared } from '../database/database.js';
import { Logger } from '../observability/logger.js';
import { Secrets } from '../secrets.js';
import { AT_TEXT, isSigned, signatureOf, SIGNED_COLUMNS, type SignedSeal, type Signature } from './audit-signature.js';

const SEAL_EVERY_MS = 3_000;
/** The maximum number of audit rows that one seal covers. Hashing that many rows blocks the event loop for 2 ms. */
const BATCH = 250;
const DIGEST_BYTES = 8;
const COUNTERSIGN_ATTEMPTS = 20;
/** The value that the first seal contains instead of the hash of a previous seal. */
export const NO_SEAL = Buffer.alloc(32);

const LAST = prepared(
  'audit-seal-last',
  `SELECT ${SIGNED_COLUMNS} FROM audit_seals ORDER BY audit_seals.seal_id DESC LIMIT 1`,
);

/**
 * Finds the newest settled seal. A seal is settled when every transaction that could add a row with an id in the seal's
 * range has ended. The seal must also be at least 10 s old, because a row gets its id just before its transaction gets
 * a number. After 10 minutes, a seal counts as settled in any case, because transaction numbers start again in a
 * restored database.
 */
const SETTLED = prepared(
  'audit-seal-settled',
  `SELECT seal_id FROM audit_seals
  WHERE horizon <= pg_snapshot_xmin(pg_current_snapshot())::text::bigint AND at < now() - interval '10 seconds'
     OR at < now() - interval '10 minutes'
  ORDER BY seal_id DESC LIMIT 1`,
);

/**
 * The SQL columns for a row of the audit log: its id, and a text of the row that does not depend on session settings
 * ({@link digestOf}).
 */
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

/**
 * Reads the values of a new seal that only the database can provide. The statement must run after the rows of the seal
 * have been read, so that the seal's `horizon` is above the numbers of all transactions whose rows were not yet
 * visible.
 */
const NEXT = prepared(
  'audit-seal-next',
  `SELECT nextval(pg_get_serial_sequence('audit_seals', 'seal_id'))::text AS seal_id, ${AT_TEXT} AS at,
     pg_snapshot_xmax(pg_current_snapshot())::text AS horizon
   FROM (SELECT now() AS at) AS moment`,
);

const ADD = prepared(
  'audit-seal-add',
  `INSERT INTO audit_seals (seal_id, at, before, ids, digests, hash, through, settled, horizon, key_id, mac)
   OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
   ON CONFLICT ON CONSTRAINT audit_seals_before_key DO NOTHING`,
);

type LastSeal = SignedSeal & Signature;

export interface SealedRow {
  id: number;
  text: string;
}

/**
 * Seals the audit entries in the background, so that the writes of entries do not wait for each other.
 *
 * 1. Every few seconds each process reads the rows that have no seal yet, and adds a seal for them. When two processes
 *    add a seal after the same predecessor, a unique constraint accepts only the first.
 * 2. A seal lists the ids, a short digest of each row, and a hash over the previous seal and all rows. If a row is
 *    changed, deleted or inserted later, the seals from that row on no longer match (audit-verification.ts).
 * 3. A row gets its id before COMMIT, so a row may become visible after rows with higher ids were sealed. A later seal
 *    covers such a row. The processes look for such late rows until every transaction that was running when a seal was
 *    added has ended, and once more after that. `settled` names the newest seal for which no further search is needed.
 * 4. The newest key of `SECRETS_KEY` signs a seal (audit-signature.ts). Each seal contains the hash of the previous
 *    seal, so a signature vouches for the whole history. After a key rotation, the new key signs one seal without rows,
 *    and thereby the whole history. No seal is added after a seal that no listed key has signed.
 *
 * Always order seals by `seal_id`, and never seal a row twice.
 */
@Injectable()
export class AuditSeals {
  constructor(
    private readonly database: Database,
    private readonly secrets: Secrets,
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

  /**
   * Adds a seal that covers no rows and is signed with the newest key. The signature of this seal vouches for the whole
   * history, so that older keys can then be removed. Verify the audit log before you call this method.
   * @returns the number of seals added, and whether the newest key has signed the newest seal
   */
  async countersign(): Promise<{ added: number; done: boolean }> {
    for (let attempt = 0; attempt < COUNTERSIGN_ATTEMPTS; attempt++) {
      const last = await this.last();
      if (last === null || last.key_id.equals(this.secrets.signingKeyId)) return { added: 0, done: true };
      if (isSigned(this.secrets, last) !== true) break;
      if (await this.add(last, [], last.settled)) return { added: 1, done: true };
    }
    return { added: 0, done: false };
  }

  private last(): Promise<LastSeal | null> {
    return this.database.queryOne<LastSeal>(LAST);
  }

  private async sealBatch(): Promise<number> {
    const last = await this.last();
    // No seal is added after a seal whose signature cannot be verified: the new signature would vouch for rows that a
    // person without a key may have inserted.
    if (last !== null && isSigned(this.secrets, last) !== true) {
      this.logger.warn(
        { seal: last.hash.toString('hex') },
        'no key of SECRETS_KEY signed the newest seal of the audit log: rows wait for a seal. List its key, and verify the audit',
      );
      return 0;
    }
    // The newest settled seal is determined before the rows are read. The rows of every transaction that had ended by
    // then are therefore visible when the rows are read.
    const settled = await this.database.queryOne<{ seal_id: number }>(SETTLED);
    const through = Number(last?.through ?? 0);
    const rows = await this.database.query<SealedRow>(NEW_ROWS, [through]);
    // While there are more new rows than fit in one batch, the search for late rows is postponed. The new seal then
    // copies `settled` from the last seal, because a later search must still cover all seals after `settled`.
    if (rows.length >= BATCH) return (await this.add(last, rows, last?.settled ?? null)) ? rows.length : 0;
    rows.unshift(...(await this.database.query<SealedRow>(LATE_ROWS, [through, last?.settled ?? null])));
    if (rows.length === 0) return 0;
    return (await this.add(last, rows, settled === null ? null : String(settled.seal_id))) ? rows.length : 0;
  }

  /**
   * Adds the seal that follows the seal `last`.
   * @returns false if another process has already added a seal after `last`
   */
  private async add(last: LastSeal | null, rows: readonly SealedRow[], settled: string | null): Promise<boolean> {
    const before = last?.hash ?? NO_SEAL;
    const next = await this.database.queryOne<{ seal_id: string; at: string; horizon: string }>(NEXT);
    const seal = {
      ...next!,
      before,
      ids: rows.map(({ id }) => String(id)),
      digests: Buffer.concat(rows.map(digestOf)),
      hash: sealOf(before, rows),
      through: String(Math.max(Number(last?.through ?? 0), ...rows.map(({ id }) => id))),
      settled,
    };
    const { key_id, mac } = signatureOf(this.secrets, seal);
    const { seal_id, at, ids, digests, hash, through, horizon } = seal;
    const values = [seal_id, at, before, ids, digests, hash, through, settled, horizon, key_id, mac];
    return (await this.database.execute(ADD, values)) === 1;
  }
}

export function digestOf({ text }: SealedRow): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES);
}

/**
 * Returns the hash of a new seal. The hash covers the hash of the previous seal and the sealed rows.
 * @param before the hash of the previous seal, or {@link NO_SEAL}
 */
export function sealOf(before: Buffer, rows: readonly SealedRow[]): Buffer {
  const hash = createHash('sha256').update(before);
  for (const { text } of rows) hash.update(text).update('\n');
  return hash.digest();
}

/** Returns the digest at the given index in a seal's list of row digests. */
export function digestAt(digests: Buffer, index: number): Buffer {
  return digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
}
