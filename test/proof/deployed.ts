import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Daemon } from './daemon.js';

/**
 * The folder of the deployment files. The tests use these files without containers, and therefore replace the
 * containers' host names with addresses.
 */
const DEPLOY = join(__dirname, '../../../deploy');

/**
 * Starts HAProxy with the given configuration files in deploy/haproxy. `names` maps host names and ports to the
 * addresses that replace them in these files. Each name must occur in one of the files.
 */
export function haproxy(folder: string, files: readonly string[], names: Readonly<Record<string, string>>): Daemon {
  const unused = new Set(Object.keys(names));
  const written = files.map((file) => {
    let text = readFileSync(join(DEPLOY, 'haproxy', file), 'utf8')
      // Docker's name server is removed from the configuration, because it does not exist outside of containers.
      .replace(/^resolvers compose\n(?: .*\n)*/m, '')
      .replaceAll(' resolvers compose', '');
    for (const [name, address] of Object.entries(names)) {
      if (!text.includes(name)) continue;
      unused.delete(name);
      text = text.replaceAll(name, address);
    }
    const own = join(folder, file);
    writeFileSync(own, text);
    return own;
  });
  if (unused.size > 0) throw new Error(`No configuration of HAProxy names ${[...unused].join(', ')}.`);
  return new Daemon('haproxy', ['/usr/sbin/haproxy', '-db', ...written.flatMap((file) => ['-f', file])], { folder });
}

export interface PoolerOptions {
  readonly database: { readonly host: string; readonly port: number };
  /** The database role whose connections go through pgbouncer. */
  readonly user: string;
  readonly password: string;
  readonly port: number;
  readonly mode?: 'session' | 'transaction';
}

/** Starts pgbouncer with the script deploy/compose/pgbouncer.sh. */
export function pgbouncer(folder: string, { database, user, password, port, mode = 'session' }: PoolerOptions): Daemon {
  const own = join(folder, `pgbouncer-${mode}`);
  mkdirSync(own, { recursive: true });
  // pgbouncer runs as PostgreSQL's operating-system user, which needs access to the folder.
  const { uid, gid } = statSync('/var/lib/postgresql');
  chownSync(own, uid, gid);
  return new Daemon(`pgbouncer-${mode}`, ['/bin/sh', '-s'], {
    folder,
    user: 'postgres',
    input: readFileSync(join(DEPLOY, 'compose/pgbouncer.sh'), 'utf8'),
    env: {
      PATH: `/usr/sbin:${process.env['PATH']}`,
      RUN_FOLDER: own,
      DATABASE_HOST: database.host,
      DATABASE_PORT: String(database.port),
      DATABASE_USER: user,
      DATABASE_PASSWORD: password,
      PORT: String(port),
      POOL_MODE: mode,
    },
  });
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
