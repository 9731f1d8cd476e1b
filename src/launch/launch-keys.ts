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
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Database, prepared } from '../platform/database/database.js';
import { EncryptedColumns } from '../platform/database/encrypted-columns.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Secrets } from '../platform/secrets.js';
import { RotateLaunchKey } from './launch.commands.js';
import { LaunchKey } from './launch-key.entity.js';

const KEY_PURPOSE = 'launch_keys.private_key';

// Those that sign, or did within a day: whoever verifies may have fetched the set before the newest was made.
const SHOWN = prepared(
  'launch-keys-shown',
  `SELECT public_jwk FROM launch_keys key
   WHERE NOT EXISTS (SELECT FROM launch_keys newer
                     WHERE newer.created_at > key.created_at AND newer.created_at < now() - interval '1 day')
   ORDER BY created_at DESC`,
);

/**
 * The ES256 keys that sign launch statements: made by the service, shared by all processes, their private parts encrypted at
 * rest. The newest signs from the moment it is made; the one before stays in the key set for a day.
 */
@Injectable()
export class LaunchKeys {
  private cached: { kid: string; privateKey: CryptoKey } | null = null;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly secrets: Secrets,
    encrypted: EncryptedColumns,
  ) {
    encrypted.add({ table: 'launch_keys', key: ['kid'], columns: { private_key: () => KEY_PURPOSE } });
  }

  async signingKey(): Promise<{ kid: string; privateKey: CryptoKey }> {
    const row = await this.ensureKey();
    if (this.cached?.kid !== row.kid) {
      const pem = this.secrets.decrypt(row.private_key, KEY_PURPOSE).toString('utf8');
      this.cached = { kid: row.kid, privateKey: await importPKCS8(pem, 'ES256') };
    }
    return this.cached;
  }

  /** RFC 7517 key set for those who verify launch statements. */
  async jwks(): Promise<{ keys: JWK[] }> {
    await this.ensureKey();
    const rows = await this.database.query<{ public_jwk: JWK }>(SHOWN);
    return { keys: rows.map((row) => row.public_jwk) };
  }

  /** A new key, which signs from now on. */
  async rotate(): Promise<LaunchKey> {
    return this.unitOfWork.run(async () => {
      const made = await this.make();
      this.unitOfWork.audit('launch-key.rotate', made.kid);
      return made;
    });
  }

  private async ensureKey(): Promise<LaunchKey> {
    const newest = () => this.database.manager.find(LaunchKey, { order: { created_at: 'DESC' }, take: 1 });
    const [existing] = await newest();
    if (existing) return existing;
    return this.unitOfWork.run(async () => {
      await this.database.query({ text: 'LOCK TABLE launch_keys IN SHARE ROW EXCLUSIVE MODE' });
      const [made] = await newest();
      return made ?? this.make();
    });
  }

  private async make(): Promise<LaunchKey> {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(jwk);
    return this.database.manager.save(LaunchKey, {
      kid,
      public_jwk: { ...jwk, kid, alg: 'ES256', use: 'sig' },
      private_key: this.secrets.encrypt(await exportPKCS8(privateKey), KEY_PURPOSE),
    });
  }
}

@CommandHandler(RotateLaunchKey)
export class RotateLaunchKeyHandler implements ICommandHandler<RotateLaunchKey> {
  constructor(private readonly keys: LaunchKeys) {}

  async execute(): Promise<string> {
    return (await this.keys.rotate()).kid;
  }
}
