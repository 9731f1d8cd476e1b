/**
 * Loaded before the service by `--require`: names are resolved by the server of `BENCH_NAME_SERVER`, not the system's.
 */
import { createRequire } from 'node:module';
import type { Resolver as NodeResolver } from 'node:dns/promises';

// The compiled sources read this binding at each use, so replacing it has an effect.
const dns = createRequire(__filename)('node:dns/promises') as { Resolver: typeof NodeResolver };
const server = process.env['BENCH_NAME_SERVER']!;

dns.Resolver = class extends dns.Resolver {
  constructor(options?: ConstructorParameters<typeof NodeResolver>[0]) {
    super(options);
    this.setServers([server]);
  }
};
