import { createHash } from 'node:crypto';
import type { Secrets } from '../secrets.js';

const PURPOSE = 'audit seal';

/**
 * The columns of a seal that the signature covers. The values of numeric columns are strings, because JavaScript rounds
 * numbers beyond 2^53.
 */
export interface SignedSeal {
  seal_id: string;
  /** The time at which the seal was created, in the form of {@link AT_TEXT}. */
  at: string;
  before: Buffer;
  ids: string[];
  digests: Buffer;
  hash: Buffer;
  through: string;
  settled: string | null;
  horizon: string;
}

export interface Signature {
  key_id: Buffer;
  mac: Buffer;
}

/** The SQL expression for the `at` column as a text that does not depend on session settings. */
export const AT_TEXT = `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** The SQL list of the columns of {@link SignedSeal} and {@link Signature}, for a SELECT. */
export const SIGNED_COLUMNS = `seal_id::text AS seal_id, ${AT_TEXT} AS at, before, ids::text[] AS ids, digests, hash,
  through::text AS through, settled::text AS settled, horizon::text AS horizon, key_id, mac`;

/**
 * Signs a seal of the audit log with the newest key of `SECRETS_KEY`. The owner of the database tables does not have
 * that key, and therefore cannot forge the signature.
 */
export function signatureOf(secrets: Secrets, seal: SignedSeal): Signature {
  const { keyId, mac } = secrets.sign(PURPOSE, textOf(seal));
  return { key_id: keyId, mac };
}

/**
 * Returns whether the signature of a stored seal is valid; null if `SECRETS_KEY` no longer lists the key that signed
 * it.
 */
export function isSigned(secrets: Secrets, seal: SignedSeal & Signature): boolean | null {
  return secrets.verifies(PURPOSE, textOf(seal), { keyId: seal.key_id, mac: seal.mac });
}

function textOf({ seal_id, at, before, ids, digests, hash, through, settled, horizon }: SignedSeal): string {
  const rows = createHash('sha256').update(ids.join()).update('\n').update(digests).digest('hex');
  return [seal_id, at, before.toString('hex'), rows, hash.toString('hex'), through, settled ?? '-', horizon].join('\n');
}
