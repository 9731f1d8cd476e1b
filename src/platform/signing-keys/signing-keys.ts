import {
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTPayload,
} from 'jose';
import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../database/database.js';
import { EncryptedColumns } from '../database/encrypted-columns.js';
import { UnitOfWork } from '../unit-of-work/unit-of-work.js';
import { Secrets } from '../secrets.js';
import { SigningKey } from './signing-key.entity.js';

const KEY_PURPOSE = 'signing_keys.private_key';

// Finds the public keys of the current key pair and of all key pairs that signed within the last day. A recipient may
// still have to verify a signature that was made before the newest key was created.
const SHOWN = prepared(
  'signing-keys-shown',
  `SELECT public_jwk FROM signing_keys key
   WHERE NOT EXISTS (SELECT FROM signing_keys newer
                     WHERE newer.created_at > key.created_at AND newer.created_at < now() - interval '1 day')
   ORDER BY created_at DESC`,
);

/**
 * Manages the ES256 keys that sign launch tokens and client assertions (RFC 7523). The service creates the keys, all
 * processes share them, and their private parts are encrypted at rest. A new key is used for signatures as soon as it
 * is created. The previous key stays in the key set for a day.
 */
@Injectable()
export class SigningKeys {
  private cached: { kid: string; privateKey: CryptoKey } | null = null;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly secrets: Secrets,
    encrypted: EncryptedColumns,
  ) {
    encrypted.add({ table: 'signing_keys', key: ['kid'], columns: { private_key: () => KEY_PURPOSE } });
  }

  async signingKey(): Promise<{ kid: string; privateKey: CryptoKey }> {
    const row = await this.ensureKey();
    if (this.cached?.kid !== row.kid) {
      const pem = this.secrets.decrypt(row.private_key, KEY_PURPOSE).toString('utf8');
      this.cached = { kid: row.kid, privateKey: await importPKCS8(pem, 'ES256') };
    }
    return this.cached;
  }

  /** Returns a signed JWT with the given claims, in compact form. */
  async sign(claims: JWTPayload): Promise<string> {
    const { kid, privateKey } = await this.signingKey();
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' }).sign(privateKey);
  }

  /** Returns the key set (RFC 7517) with which recipients verify the service's signatures. */
  async jwks(): Promise<{ keys: JWK[] }> {
    await this.ensureKey();
    const rows = await this.database.query<{ public_jwk: JWK }>(SHOWN);
    return { keys: rows.map((row) => row.public_jwk) };
  }

  /** Creates a new key, which is used for all signatures from now on. */
  async rotate(): Promise<SigningKey> {
    return this.unitOfWork.run(async () => {
      const made = await this.make();
      this.unitOfWork.audit('launch-key.rotate', made.kid);
      return made;
    });
  }

  private async ensureKey(): Promise<SigningKey> {
    const newest = () => this.database.manager.find(SigningKey, { order: { created_at: 'DESC' }, take: 1 });
    const [existing] = await newest();
    if (existing) return existing;
    return this.unitOfWork.run(async () => {
      await this.database.query({ text: 'LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE' });
      const [made] = await newest();
      return made ?? this.make();
    });
  }

  private async make(): Promise<SigningKey> {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(jwk);
    return this.database.manager.save(SigningKey, {
      kid,
      public_jwk: { ...jwk, kid, alg: 'ES256', use: 'sig' },
      private_key: this.secrets.encrypt(await exportPKCS8(privateKey), KEY_PURPOSE),
    });
  }
}
