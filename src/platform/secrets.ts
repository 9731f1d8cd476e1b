import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { SecretsConfig } from './secrets.config.js';

const FORMAT = 1;
const KEY_ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PIECE_BYTES = 64 * 1024;

/**
 * Provides encryption at rest and keyed hashes. Encryption and hashing use separate keys, which are derived (HKDF, RFC
 * 5869) from a key of `SECRETS_KEY`. The newest key encrypts with AES-256-GCM; every listed key decrypts.
 *
 * Layout of an encrypted value: format (1 byte) · key id (4 bytes of the key's SHA-256) · IV (12) · tag (16) ·
 * ciphertext. `purpose` names the column and row of the value. The purpose is authenticated but not stored, so a value
 * that was moved to a different column or row cannot be decrypted there.
 */
@Injectable()
export class Secrets {
  private readonly keys: { id: Buffer; key: Buffer }[];
  private readonly hashKey: Buffer;
  private readonly signingKeys: { id: Buffer; key: Buffer }[];
  /**
   * The first bytes of every value that is encrypted under the newest key. Values with other first bytes must be
   * re-encrypted.
   */
  readonly newest: Buffer;

  constructor(private readonly config: SecretsConfig) {
    this.keys = config.keys.map((key) => ({
      id: sha256(key).subarray(0, KEY_ID_BYTES),
      key: derived(key, 'encryption'),
    }));
    this.hashKey = derived(config.keys[0], 'keyed hashes');
    this.signingKeys = config.keys.map((key) => ({
      id: sha256(key).subarray(0, KEY_ID_BYTES),
      key: derived(key, 'signatures'),
    }));
    this.newest = Buffer.concat([Buffer.of(FORMAT), this.keys[0].id]);
  }

  /**
   * Returns a code for a record. If the `CELL` setting contains a letter, the code begins with it, so that a proxy can
   * route requests by this letter.
   */
  code(length: number): string {
    const { cell } = this.config;
    return cell + randomCode(length - cell.length);
  }

  /** Returns a token of 256 random bits. If the `CELL` setting contains a letter, the token begins with it. */
  token(): string {
    return this.config.cell + randomToken();
  }

  /** Returns an HMAC-SHA256 of the text under the newest key. After a key rotation, stored hashes no longer match. */
  keyedHash(purpose: string, text: string): Buffer {
    return macOf(this.hashKey, purpose, text);
  }

  /** The id of the key with which {@link sign} currently signs: the newest key of `SECRETS_KEY`. */
  get signingKeyId(): Buffer {
    return this.signingKeys[0].id;
  }

  /**
   * Signs the text with HMAC-SHA256 under the newest key; `keyId` is the id of that key. The signature can be verified
   * as long as `SECRETS_KEY` lists that key.
   */
  sign(purpose: string, text: string): { keyId: Buffer; mac: Buffer } {
    const { id, key } = this.signingKeys[0];
    return { keyId: id, mac: macOf(key, purpose, text) };
  }

  /** Returns whether the signature was made with the key `keyId`; null if `SECRETS_KEY` no longer lists that key. */
  verifies(purpose: string, text: string, { keyId, mac }: { keyId: Buffer; mac: Buffer }): boolean | null {
    const entry = this.signingKeys.find(({ id }) => id.equals(keyId));
    if (!entry) return null;
    const expected = macOf(entry.key, purpose, text);
    return mac.length === expected.length && timingSafeEqual(mac, expected);
  }

  encrypt(plain: string | Buffer, purpose: string): Buffer {
    const { id, key } = this.keys[0];
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    cipher.setAAD(Buffer.from(purpose));
    const bytes = typeof plain === 'string' ? Buffer.from(plain) : plain;
    const head = 1 + KEY_ID_BYTES + IV_BYTES;
    const sealed = Buffer.allocUnsafe(head + TAG_BYTES + bytes.length);
    sealed[0] = FORMAT;
    id.copy(sealed, 1);
    iv.copy(sealed, 1 + KEY_ID_BYTES);
    // The value is encrypted in chunks, so that a large value is copied in memory once rather than twice.
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      cipher.update(bytes.subarray(at, at + PIECE_BYTES)).copy(sealed, head + TAG_BYTES + at);
    cipher.final();
    cipher.getAuthTag().copy(sealed, head);
    return sealed;
  }

  /**
   * Decrypts a value.
   * @throws Error when none of the keys in `SECRETS_KEY` encrypted the value, or when the value or its purpose was
   * changed
   */
  decrypt(sealed: Buffer, purpose: string): Buffer {
    if (sealed[0] !== FORMAT) throw new Error('Unknown format of an encrypted value.');
    let at = 1;
    const take = (bytes: number) => sealed.subarray(at, (at += bytes));
    const id = take(KEY_ID_BYTES);
    const entry = this.keys.find((candidate) => candidate.id.equals(id));
    if (!entry) throw new Error('No key of SECRETS_KEY can decrypt this value.');
    const decipher = createDecipheriv('aes-256-gcm', entry.key, take(IV_BYTES));
    decipher.setAuthTag(take(TAG_BYTES));
    decipher.setAAD(Buffer.from(purpose));
    return Buffer.concat([decipher.update(sealed.subarray(at)), decipher.final()]);
  }
}

function macOf(key: Buffer, purpose: string, text: string): Buffer {
  return createHmac('sha256', key).update(`${purpose}\0${text}`).digest();
}

function derived(key: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `candidate-eligibility ${use}`, 32));
}

export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** The characters of generated codes. Letters and digits that people easily confuse (I L O U 0 1) are excluded. */
const CODE_ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';

/** Returns a code of `length` characters of {@link CODE_ALPHABET}, from a cryptographic random source. */
export function randomCode(length: number): string {
  let code = '';
  for (let i = 0; i < length; i++) code += CODE_ALPHABET[randomInt(CODE_ALPHABET.length)];
  return code;
}

/** The form of a {@link Secrets.token}, with or without the letter from the `CELL` setting at the beginning. */
export const GENERATED_TOKEN = /^[A-HJKMNP-TV-Z2-9]?[A-Za-z0-9_-]{43}$/;

/** Returns `bytes` random bytes in base64url: 32 bytes yield 43 characters. */
export function randomToken(bytes = 32): string {
  return randomBytes(bytes).toString('base64url');
}
