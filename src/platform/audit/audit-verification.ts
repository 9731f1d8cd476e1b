import type pg from 'pg';
import { acrossAccounts, type Database, prepared, type Statement } from '../database/database.js';
import { connectTo } from '../database/service-client.js';
import type { Secrets } from '../secrets.js';
import { digestAt, digestOf, NO_SEAL, SEALED_ROW, sealOf, type SealedRow } from './audit-seals.js';
import { isSigned, SIGNED_COLUMNS, type SignedSeal, type Signature } from './audit-signature.js';

const BATCH = 50;

type Seal = SignedSeal & Signature;

/** The first audit entry that does not agree with its seal, and the reason. */
export interface Fault {
  readonly fromRow: number;
  readonly because: string;
}

interface Extent {
  readonly rows: number;
  readonly seals: number;
}

/** The result of comparing all audit entries with all seals. */
export type AuditVerdict =
  | ({
      readonly agrees: true;
      readonly last: string | null;
      /** Whether the newest key of `SECRETS_KEY` signed the newest seal; false if an older key did. */
      readonly underNewestKey: boolean;
      readonly upToAnchor: Extent | null;
    } & Extent)
  | ({
      readonly agrees: false;
      /**
       * The number of audit rows and seals up to the anchor (a seal that was stored outside the database). All audit
       * rows up to the anchor agree with their seals. The value is null without an anchor, or if the comparison found a
       * fault before the anchor.
       */
      readonly upToAnchor: Extent | null;
    } & Fault)
  | { readonly agrees: false; readonly fromRow: null; readonly because: string; readonly upToAnchor: null };

/**
 * Compares all audit entries with their seals, from the first seal on. The comparison is read-only and uses its own
 * connection. Entries of the last seconds may not have a seal yet.
 *
 * @param anchor the hash, in hexadecimal, of a seal that was stored outside the database; the history must contain this
 * seal
 */
export async function verifyAudit(url: string, secrets: Secrets, anchor: string | null = null): Promise<AuditVerdict> {
  const client = await connectTo(url);
  try {
    // The comparison runs in one snapshot of the database, so that it does not see seals and deletions after its start.
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const chain = new Chain(client, secrets, NO_SEAL);
    let after = '0';
    let upToAnchor: Extent | null = null;
    for (;;) {
      const batch = await client.query<Seal>(
        `SELECT ${SIGNED_COLUMNS} FROM audit_seals WHERE audit_seals.seal_id > $1 ORDER BY audit_seals.seal_id LIMIT $2`,
        [after, BATCH],
      );
      for (const seal of batch.rows) {
        const fault = await chain.follow(seal);
        if (fault) return { agrees: false, upToAnchor, ...fault };
        after = seal.seal_id;
        if (seal.hash.toString('hex') === anchor) upToAnchor = { rows: chain.rows, seals: chain.seals };
      }
      if (batch.rows.length < BATCH) break;
    }
    const fault = chain.unvouched ?? (await firstUnsealed(client));
    if (fault) return { agrees: false, upToAnchor, ...fault };
    if (anchor !== null && upToAnchor === null)
      return {
        agrees: false,
        fromRow: null,
        because: 'the history does not contain the seal: its end was deleted, or it was rewritten',
        upToAnchor,
      };
    const { rows, seals, last } = chain;
    const underNewestKey = last === null || last.key_id.equals(secrets.signingKeyId);
    return { agrees: true, rows, seals, last: last && last.hash.toString('hex'), underNewestKey, upToAnchor };
  } finally {
    await client.end();
  }
}

/** Reads the newest seal, and counts the audit entries that do not have a seal yet. */
const STATE = prepared(
  'audit-seal-state',
  `SELECT last.through AS sealed_through, last.at AS last_seal_at, encode(last.hash, 'hex') AS last_seal,
     waiting.count AS waiting, waiting.oldest AS oldest_waiting_at
   FROM (SELECT 1) AS one
   LEFT JOIN LATERAL (SELECT through, at, hash FROM audit_seals ORDER BY seal_id DESC LIMIT 1) last ON true
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS count, min(at) AS oldest
     FROM (SELECT at FROM audit_log WHERE id > coalesce(last.through, 0) ORDER BY id LIMIT 10000) unsealed) waiting`,
  acrossAccounts.sealing,
);
const NEWEST = prepared(
  'audit-seals-newest',
  `SELECT ${SIGNED_COLUMNS} FROM audit_seals ORDER BY audit_seals.seal_id DESC LIMIT $1`,
);

const FROM = prepared(
  'audit-seals-from',
  `SELECT ${SIGNED_COLUMNS} FROM audit_seals WHERE audit_seals.seal_id >= $1 ORDER BY audit_seals.seal_id LIMIT $2`,
);

export interface SealState {
  sealed_through: number | null;
  last_seal_at: Date | null;
  last_seal: string | null;
  waiting: number;
  oldest_waiting_at: Date | null;
  checked_seals: number;
  checked_rows: number;
  agrees: boolean;
  from_row: number | null;
  because: string | null;
}

/** Compares each of the newest seals with its audit entries and with the seal before it. */
export async function newestSeals(database: Database, secrets: Secrets, most: number): Promise<SealState> {
  const state = (await database.queryOne<Omit<SealState, 'agrees' | 'from_row' | 'because'>>(STATE))!;
  const seals = (await database.query<Seal>(NEWEST, [most])).reverse();
  const chain = new Chain(readerOf(database), secrets, seals[0]?.before ?? NO_SEAL);
  let fault: Fault | null = null;
  for (const seal of seals) if ((fault = await chain.follow(seal))) break;
  fault ??= chain.unvouched;
  return {
    ...state,
    checked_seals: chain.seals,
    checked_rows: chain.rows,
    agrees: fault === null,
    from_row: fault && fault.fromRow,
    because: fault && fault.because,
  };
}

/**
 * Compares at most `most` seals, beginning with the seal whose id is `first`, with their audit entries and with each
 * other.
 * @returns the first fault, and the id with which the next comparison begins: the id of the last compared seal, `0`
 * after the newest seal, or `first` after a fault.
 */
export async function sealsFrom(
  database: Database,
  secrets: Secrets,
  first: string,
  most: number,
): Promise<{ fault: Fault | null; next: string }> {
  const seals = await database.query<Seal>(FROM, [first, most]);
  const chain = new Chain(readerOf(database), secrets, seals[0]?.before ?? NO_SEAL);
  for (const seal of seals) {
    const fault = await chain.follow(seal);
    if (fault) return { fault, next: first };
  }
  return { fault: null, next: seals.length < most ? '0' : seals.at(-1)!.seal_id };
}

function readerOf(database: Database): Reader {
  return { query: async (statement) => ({ rows: await database.query(statement, statement.values) }) };
}

/** The only method of a database connection that the verification of the audit log needs. */
interface Reader {
  query(statement: Statement & { values: unknown[] }): Promise<{ rows: SealedRow[] }>;
}

/** Checks the seals of the audit log in order. For each seal, checks the rows, the signature and the previous seal. */
class Chain {
  rows = 0;
  seals = 0;
  last: Seal | null = null;
  /**
   * The fault of the first seal after the last signed seal; null if the last seal is signed. A signed seal vouches for
   * all earlier seals, because its hash includes their hashes.
   */
  unvouched: Fault | null = null;

  constructor(
    private readonly reader: Reader,
    private readonly secrets: Secrets,
    private before: Buffer,
  ) {}

  async follow(seal: Seal): Promise<Fault | null> {
    const ids = seal.ids.map(Number);
    const fromRow = ids.length > 0 ? Math.min(...ids) : Number(seal.through);
    const signed = isSigned(this.secrets, seal);
    if (signed === false || !seal.before.equals(this.before))
      return { fromRow, because: 'its seal, or an earlier seal, was changed or deleted' };
    const fault = await this.compare(seal, ids, fromRow);
    if (fault) return fault;
    this.unvouched = signed
      ? null
      : (this.unvouched ?? { fromRow, because: 'no key of SECRETS_KEY signed its seal, nor a later one' });
    this.before = seal.hash;
    this.last = seal;
    this.rows += ids.length;
    this.seals += 1;
    return null;
  }

  private async compare(seal: Seal, ids: readonly number[], fromRow: number): Promise<Fault | null> {
    const found = await this.reader.query({
      text: `SELECT ${SEALED_ROW} FROM audit_log WHERE id = ANY ($1::bigint[])`,
      values: [seal.ids],
      across: acrossAccounts.sealing,
    });
    const byId = new Map(found.rows.map((row) => [Number(row.id), row]));
    const rows: SealedRow[] = [];
    let fault: Fault | null = null;
    for (const [index, id] of ids.entries()) {
      const row = byId.get(id);
      if (row && digestOf(row).equals(digestAt(seal.digests, index))) rows.push(row);
      else if (fault === null || id < fault.fromRow)
        fault = { fromRow: id, because: row ? 'the row was changed' : 'the row was deleted' };
    }
    if (fault) return fault;
    if (sealOf(this.before, rows).equals(seal.hash)) return null;
    return { fromRow, because: 'its seal, or an earlier seal, was changed or deleted' };
  }
}

/** Returns the fault of the first audit entry that should have a seal and has none; null if there is no such entry. */
async function firstUnsealed(client: pg.Client): Promise<Fault | null> {
  const unsealed: Statement = {
    text: `SELECT min(id) AS id FROM audit_log
     WHERE id <= (SELECT through FROM audit_seals
                  WHERE seal_id = (SELECT settled FROM audit_seals ORDER BY seal_id DESC LIMIT 1))
       AND NOT EXISTS (SELECT FROM (SELECT unnest(ids) AS sealed FROM audit_seals) seals WHERE sealed = id)`,
    across: acrossAccounts.sealing,
  };
  const { rows } = await client.query<{ id: number | null }>(unsealed);
  const [{ id }] = rows;
  return id === null ? null : { fromRow: Number(id), because: 'the row was added after its neighbours were sealed' };
}
