/**
 * Makes the service resolve names with the server in `BENCH_NAME_SERVER` instead of the system's name server. Load this
 * program with `--require`, so that it runs before the service.
 */
import { createRequire } from 'node:module';
import type { Resolver as NodeResolver } from 'node:dns/promises';

// The compiled sources read `Resolver` from the module object at each use, so replacing it here takes effect.
const dns = createRequire(__filename)('node:dns/promises') as { Resolver: typeof NodeResolver };
const server = process.env['BENCH_NAME_SERVER']!;

dns.Resolver = class extends dns.Resolver {
  constructor(options?: ConstructorParameters<typeof NodeResolver>[0]) {
    super(options);
    this.setServers([server]);
  }
};
