import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const IV_BYTES = 16;

interface CursorKey {
  readonly seal: Buffer;
  readonly cipher: Buffer;
}

let keys: readonly CursorKey[] = [derived(randomBytes(32))];

/** Sets the keys that encrypt cursors, newest first. Processes with the same keys can read each other's cursors. */
export function useCursorKeys(secretsKeys: readonly Buffer[]): void {
  keys = secretsKeys.map(derived);
}

/**
 * Encrypts a position in a list as a cursor. Positions count the rows of all accounts, so a readable position would
 * reveal the activity of other accounts. The same position always results in the same cursor.
 */
export function sealCursor(position: string): string {
  const [{ seal, cipher }] = keys;
  // The MAC of the plaintext is the initialization vector (synthetic IV, SIV).
  const iv = createHmac('sha256', seal).update(position).digest().subarray(0, IV_BYTES);
  const encrypted = createCipheriv('aes-256-ctr', cipher, iv);
  return Buffer.concat([iv, encrypted.update(position), encrypted.final()]).toString('base64url');
}

/** Returns the position that a cursor contains; null if the service did not issue the cursor. */
export function openCursor(cursor: string): string | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length <= IV_BYTES || bytes.toString('base64url') !== cursor) return null;
  const iv = bytes.subarray(0, IV_BYTES);
  for (const { seal, cipher } of keys) {
    const decrypted = createDecipheriv('aes-256-ctr', cipher, iv);
    const position = Buffer.concat([decrypted.update(bytes.subarray(IV_BYTES)), decrypted.final()]);
    if (timingSafeEqual(createHmac('sha256', seal).update(position).digest().subarray(0, IV_BYTES), iv))
      return position.toString();
  }
  return null;
}

function derived(secret: Buffer): CursorKey {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', 'cursor', 64));
  return { seal: bytes.subarray(0, 32), cipher: bytes.subarray(32) };
}
