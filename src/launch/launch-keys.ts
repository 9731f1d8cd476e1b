import {
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  type CryptoKey,
  type JWK,
} from 'jose';
import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Secrets } from '../platform/secrets.js';
import { LaunchKey } from './launch-key.entity.js';

const KEY_PURPOSE = 'launch_keys.private_key';

/** The ES256 key that signs launch statements: made once, shared by all processes, its private part encrypted at rest. */
@Injectable()
export class LaunchKeys {
  private cached: { kid: string; privateKey: CryptoKey } | null = null;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly secrets: Secrets,
  ) {}

  async signingKey(): Promise<{ kid: string; privateKey: CryptoKey }> {
    if (!this.cached) {
      const row = await this.ensureKey();
      const pem = this.secrets.decrypt(row.private_key, KEY_PURPOSE).toString('utf8');
      this.cached = { kid: row.kid, privateKey: await importPKCS8(pem, 'ES256') };
    }
    return this.cached;
  }

  /** RFC 7517 key set for those who verify launch statements. */
  async jwks(): Promise<{ keys: JWK[] }> {
    await this.ensureKey();
    const rows = await this.database.manager.find(LaunchKey, { order: { created_at: 'DESC' } });
    return { keys: rows.map((row) => row.public_jwk as JWK) };
  }

  private async ensureKey(): Promise<LaunchKey> {
    const [existing] = await this.database.manager.find(LaunchKey, { order: { created_at: 'DESC' }, take: 1 });
    if (existing) return existing;
    return this.unitOfWork.run(async () => {
      await this.database.query({ text: 'LOCK TABLE launch_keys IN SHARE ROW EXCLUSIVE MODE' });
      const [made] = await this.database.manager.find(LaunchKey, { order: { created_at: 'DESC' }, take: 1 });
      if (made) return made;
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
      const jwk = await exportJWK(publicKey);
      const kid = await calculateJwkThumbprint(jwk);
      return this.database.manager.save(LaunchKey, {
        kid,
        public_jwk: { ...jwk, kid, alg: 'ES256', use: 'sig' },
        private_key: this.secrets.encrypt(await exportPKCS8(privateKey), KEY_PURPOSE),
      });
    });
  }
}
