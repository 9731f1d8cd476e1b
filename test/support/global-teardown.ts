import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { EmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';

export default async function globalTeardown(): Promise<void> {
  const own = (globalThis as Record<string, unknown>)['__postgres'];
  if (own === undefined) return;
  const { server, dataDir } = own as { server: EmbeddedPostgres; dataDir: string };
  await server.stop();
  rmSync(realpathSync(join(dataDir, 'postgres')), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
}
