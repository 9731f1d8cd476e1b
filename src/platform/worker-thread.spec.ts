import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkerThread } from './worker-thread.js';

const PROGRAM = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', (job) => {
  if (job === 'throw') throw new Error('of the thread');
  if (job === 'exit') process.exit(1);
  if (job === 'eat') for (const eaten = []; ;) eaten.push(new Array(10_000).fill(job + eaten.length));
  parentPort.postMessage(job === 'fail' ? { error: new Error('of the job') } : { result: job });
});`;

describe('a worker thread', () => {
  const folder = mkdtempSync(join(tmpdir(), 'worker-thread-'));
  const program = join(folder, 'program.cjs');
  writeFileSync(program, PROGRAM);
  const thread = new WorkerThread<string, string>(program, { resourceLimits: { maxOldGenerationSizeMb: 16 } });

  afterAll(async () => {
    await thread.end();
    rmSync(folder, { recursive: true });
  });

  it('a worker thread completes its jobs, and continues after a job that fails', async () => {
    expect(await thread.run('one')).toBe('one');
    await expect(thread.run('fail')).rejects.toThrow('of the job');
    expect(await thread.run('two')).toBe('two');
  });

  it.each(['throw', 'exit', 'eat'])('when a worker thread dies (%s), only its current job fails', async (death) => {
    const dying = thread.run(death).catch(() => 'dead');
    // The test starts the next job at the very moment at which the end of the worker thread is reported.
    expect(await dying.then(() => thread.run('next'))).toBe('next');
    await thread.end();
    expect(await thread.run('after the end')).toBe('after the end');
  });
});
