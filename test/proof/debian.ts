import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

/**
 * The Debian programs that the tests need. Each entry has a file that exists if the program is installed, and the name
 * of the program's package.
 */
const PROGRAMS = {
  postgres: ['/usr/lib/postgresql/15/bin/postgres', 'postgresql-15'],
  patroni: ['/usr/bin/patroni', 'patroni'],
  etcd: ['/usr/bin/etcd', 'etcd-server'],
  haproxy: ['/usr/sbin/haproxy', 'haproxy'],
  pgbouncer: ['/usr/sbin/pgbouncer', 'pgbouncer'],
  prometheus: ['/usr/bin/prometheus', 'prometheus'],
  ip: ['/usr/sbin/ip', 'iproute2'],
  ps: ['/usr/bin/ps', 'procps'],
  faketime: ['/usr/bin/faketime', 'faketime'],
} as const;

/** The folder of Debian's PostgreSQL programs. */
export const POSTGRES_BIN = '/usr/lib/postgresql/15/bin';
/** While this file exists, an installed Debian package does not start its services. */
const POLICY = '/usr/sbin/policy-rc.d';

/** Installs those of the given programs that are missing. @throws Error on a machine where they cannot be installed */
export function installPrograms(...names: (keyof typeof PROGRAMS)[]): void {
  const missing = names.map((name) => PROGRAMS[name]).filter(([file]) => !existsSync(file));
  if (missing.length === 0) return;
  const packages = missing.map(([, name]) => name);
  process.stdout.write(`Installing ${packages.join(', ')} …\n`);
  const isOwnPolicy = !existsSync(POLICY);
  if (isOwnPolicy) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const apt = (...words: string[]) =>
      execFileSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...words], {
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    apt('update');
    apt('install', '--yes', '--no-install-recommends', ...packages);
  } catch (error) {
    throw new Error(
      `This needs root on Debian 12 and its packages ${packages.join(', ')}, which cannot be installed.`,
      {
        cause: error,
      },
    );
  } finally {
    if (isOwnPolicy) rmSync(POLICY);
  }
}
