import { resolve } from 'node:path';
import type { EnvironmentReader } from './environment-reader.js';

type Role = 'api' | 'delivery';

/** The settings that concern the process as a whole. */
export class ProcessConfig {
  readonly sandbox: boolean;
  readonly dataDir: string;
  readonly roles: ReadonlySet<Role>;
  readonly shutdownGraceMs: number;

  constructor(read: EnvironmentReader) {
    const production = read.raw('NODE_ENV') === 'production';
    this.sandbox = read.boolean('SANDBOX', !production && read.raw('DATABASE_URL') === undefined);
    if (this.sandbox && production) read.fault('SANDBOX', 'must not be true when NODE_ENV=production');
    this.dataDir = resolve(read.text('DATA_DIR', './data'));
    const isRole = (text: string) => text === 'api' || text === 'delivery';
    this.roles = new Set(read.list('ROLES', 'api,delivery', isRole, 'must list api, delivery or both') as Role[]);
    this.shutdownGraceMs = read.integer('SHUTDOWN_GRACE_MS', 10_000, 0, 600_000);
  }
}
