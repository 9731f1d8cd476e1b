import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { SimulatedService, type Surroundings } from '../proof/simulation/service';
import { SimulatedTime } from '../proof/simulation/simulated-time';
import type { FairSemaphore } from '../proof/simulation/turns';

test('npm run simulate leaves neither files nor a running PostgreSQL when it cannot start', async () => {
  const [folder, before] = [mkdtempSync(join(tmpdir(), 'cannot-start-')), process.env['TMPDIR']];
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  let port = 0;
  const ask = (over: pg.Client) => {
    ({ port } = over);
    throw new Error('nobody to ask');
  };
  try {
    const started = SimulatedService.start(
      new SimulatedTime(),
      { ask } as unknown as FairSemaphore,
      {} as Surroundings,
    );
    await expect(started).rejects.toThrow('nobody to ask');
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  expect(readdirSync(folder)).toEqual([]);
  await expect(new pg.Client({ host: '127.0.0.1', port }).connect()).rejects.toThrow('ECONNREFUSED');
  rmSync(folder, { recursive: true });
});
