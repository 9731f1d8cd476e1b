import type pg from 'pg';
import { acrossAccounts, type Database, prepared, type Statement } from '../database/database.js';
import { connectTo } from '../database/service-client.js';
import { digestAt, digestOf, SEALED_ROW, sealOf, type SealedRow } from './audit-seals.js';

const BATCH = 50;

interface Seal {
  seal_id: number;
  ids: string[];
  digests: Buffer;
  hash: Buffer;
}

/** What the comparison of all rows with all seals says. */
export type AuditVerdict =
  | { readonly agrees: true; readonly rows: number; readonly seals: number; readonly last: string | null }
  | { readonly agrees: false; readonly fromRow: number; readonly because: string };

/**
 * Compares the audit rows with their seals, from the first one on. It reads everything there is, on a connection of its own,
 * and changes nothing. Rows of the last seconds may have no seal yet.
 */
export async function verifyAudit(url: string): Promise<AuditVerdict> {
  const client = await connectTo(url);
  try {
    // What is sealed or removed meanwhile does not concern this look.
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    let before: Buffer | null = null;
    let after = 0;
    let rows = 0;
    let seals = 0;
    for (;;) {
      const batch = await client.query<Seal>(
        'SELECT seal_id, ids::text[] AS ids, digests, hash FROM audit_seals WHERE seal_id > $1 ORDER BY seal_id LIMIT $2',
        [after, BATCH],
      );
      for (const seal of batch.rows) {
        const fault = await faultOf(client, seal, before);
        if (fault) return { agrees: false, ...fault };
        before = seal.hash;
        after = seal.seal_id;
        rows += seal.ids.length;
        seals += 1;
      }
      if (batch.rows.length < BATCH) break;
    }
    const unsealed = await firstUnsealed(client);
    if (unsealed !== null) return { agrees: false, fromRow: unsealed, because: 'the row was added behind the seals' };
    return { agrees: true, rows, seals, last: before && before.toString('hex') };
  } finally {
    await client.end();
  }
}

/** The newest seal, and what has none yet. */
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
  `SELECT seal_id, before, ids::text[] AS ids, digests, hash FROM audit_seals ORDER BY seal_id DESC LIMIT $1`,
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

/** Compares the newest seals with their rows, each with the seal that it names as the one before. */
export async function newestSeals(database: Database, most: number): Promise<SealState> {
  const state = (await database.queryOne<Omit<SealState, 'agrees' | 'from_row' | 'because'>>(STATE))!;
  const seals = (await database.query<Seal & { before: Buffer }>(NEWEST, [most])).reverse();
  const reader: Reader = { query: async (statement) => ({ rows: await database.query(statement, statement.values) }) };
  let checked_rows = 0;
  for (const [index, seal] of seals.entries()) {
    const before = index === 0 ? seal.before : seals[index - 1].hash;
    const fault = await faultOf(reader, seal, before);
    if (fault)
      return {
        ...state,
        checked_seals: index,
        checked_rows,
        agrees: false,
        from_row: fault.fromRow,
        because: fault.because,
      };
    checked_rows += seal.ids.length;
  }
  return { ...state, checked_seals: seals.length, checked_rows, agrees: true, from_row: null, because: null };
}

/** As much of a connection as a look at one seal takes. */
interface Reader {
  query(statement: Statement & { values: unknown[] }): Promise<{ rows: SealedRow[] }>;
}

async function faultOf(
  client: Reader,
  seal: Seal,
  before: Buffer | null,
): Promise<{ fromRow: number; because: string } | null> {
  const found = await client.query({
    text: `SELECT ${SEALED_ROW} FROM audit_log WHERE id = ANY ($1::bigint[])`,
    values: [seal.ids],
    across: acrossAccounts.sealing,
  });
  const byId = new Map(found.rows.map((row) => [Number(row.id), row]));
  const ids = seal.ids.map(Number);
  const rows: SealedRow[] = [];
  let fault: { fromRow: number; because: string } | null = null;
  for (const [index, id] of ids.entries()) {
    const row = byId.get(id);
    if (row && digestOf(row).equals(digestAt(seal.digests, index))) rows.push(row);
    else if (fault === null || id < fault.fromRow)
      fault = { fromRow: id, because: row ? 'the row was changed' : 'the row is gone' };
  }
  if (fault) return fault;
  if (sealOf(before, rows).equals(seal.hash)) return null;
  return { fromRow: Math.min(...ids), because: 'its seal, or one before it, was changed or is gone' };
}

/** The first row that should have a seal and has none. */
async function firstUnsealed(client: pg.Client): Promise<number | null> {
  const unsealed: Statement = {
    text: `SELECT min(id) AS id FROM audit_log
     WHERE id <= (SELECT through FROM audit_seals
                  WHERE seal_id = (SELECT settled FROM audit_seals ORDER BY seal_id DESC LIMIT 1))
       AND NOT EXISTS (SELECT FROM (SELECT unnest(ids) AS sealed FROM audit_seals) seals WHERE sealed = id)`,
    across: acrossAccounts.sealing,
  };
  const { rows } = await client.query<{ id: number | null }>(unsealed);
  return rows[0].id === null ? null : Number(rows[0].id);
}
