import { createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { SecretsConfig } from './secrets.config';
import { Secrets } from './secrets.js';

const key = randomBytes(32);
const secrets = new Secrets({ keys: [key] } as unknown as SecretsConfig);
const PURPOSE = 'table.column id';

/** Decrypts a value that was encrypted directly under a key of SECRETS_KEY; throws for any other value. */
function underTheKeyItself(sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(5, 17));
  decipher.setAAD(Buffer.from(PURPOSE)).setAuthTag(sealed.subarray(17, 33));
  return Buffer.concat([decipher.update(sealed.subarray(33)), decipher.final()]).toString();
}

it('encryption and keyed hashes each use a derived key, never the configured key itself', () => {
  const sealed = secrets.encrypt('a photo', PURPOSE);
  expect(secrets.decrypt(sealed, PURPOSE).toString()).toBe('a photo');
  expect(() => underTheKeyItself(sealed)).toThrow();
  const hash = secrets.keyedHash('username', 'ada');
  expect(hash).toEqual(secrets.keyedHash('username', 'ada'));
  expect(hash).not.toEqual(createHmac('sha256', key).update('username\0ada').digest());
});

it('an encrypted value that was copied to another row or column cannot be decrypted', () => {
  const sealed = secrets.encrypt('a photo', PURPOSE);
  expect(() => secrets.decrypt(sealed, 'table.column other')).toThrow();
});
