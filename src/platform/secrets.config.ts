import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type EnvironmentReader } from './environment-reader.js';

/** The settings for encryption and generated codes. */
export class SecretsConfig {
  /** The keys that encrypt stored secrets: 32 bytes each, newest first. */
  readonly keys: Buffer[];
  /** The letter with which every generated code begins (the `CELL` setting); empty if the cell has none. */
  readonly cell: string;

  constructor(read: EnvironmentReader, sandbox: boolean) {
    this.keys = secretsKeys(read, sandbox);
    const letters = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
    this.cell = read.matching('CELL', new RegExp(`^[${letters}]?$`), `must be one of ${letters}`);
  }

  /**
   * Uses the sandbox's own key if `SECRETS_KEY` is not set. The first start creates this key in `DATA_DIR/secrets.key`
   * (mode 0600).
   */
  useKeyOfSandbox(dataDir: string): void {
    if (this.keys.length > 0) return;
    const file = join(dataDir, 'secrets.key');
    mkdirSync(dataDir, { recursive: true });
    try {
      writeFileSync(file, randomBytes(32).toString('base64') + '\n', { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
    if (key.length !== 32) throw new ConfigError(['DATA_DIR: secrets.key does not contain 32 bytes in base64']);
    this.keys.push(key);
  }
}

function secretsKeys(read: EnvironmentReader, mayBeMissing: boolean): Buffer[] {
  const keys = read.raw('SECRETS_KEY')?.split(',') ?? [];
  if (keys.length === 0 && !mayBeMissing)
    read.fault('SECRETS_KEY', 'is required: 32 random bytes in base64 (openssl rand -base64 32)');
  if (!keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key.trim())))
    read.fault('SECRETS_KEY', 'must be 32 bytes in base64, or a comma-separated list of such keys, newest first');
  return keys.map((key) => Buffer.from(key, 'base64'));
}
