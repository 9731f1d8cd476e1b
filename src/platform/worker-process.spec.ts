import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkerProcess } from './worker-process.js';

const PROGRAM = `
process.on('message', ({ work }) => {
  if (work === 'throw') throw new Error('of the process');
  if (work === 'exit') process.exit(1);
  if (work === 'kill') process.kill(process.pid, 'SIGKILL');
  if (work === 'disconnect') return process.disconnect();
  if (work === 'priority') return process.send({ result: String(require('node:os').getPriority()) });
  if (work === 'pid') return process.send({ result: String(process.pid) });
  process.send(work === 'fail' ? { error: 'of the job' } : { result: work });
});`;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a worker process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'worker-process-'));
  const program = join(folder, 'program.cjs');
  writeFileSync(program, PROGRAM);
  const worker = new WorkerProcess<{ work: string }, string>(program, []);

  afterAll(async () => {
    await worker.end();
    rmSync(folder, { recursive: true });
  });

  it('a worker process completes its jobs, and continues after a job that fails', async () => {
    expect(await worker.run({ work: 'one' })).toBe('one');
    await expect(worker.run({ work: 'fail' })).rejects.toThrow('of the job');
    expect(await worker.run({ work: 'two' })).toBe('two');
  });

  it('a worker process has a low priority', async () => {
    expect(Number(await worker.run({ work: 'priority' }))).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
  });

  it.each(['throw', 'exit', 'kill', 'disconnect'])(
    'when a worker process dies (%s), only its current job fails',
    async (work) => {
      const dying = worker.run({ work }).catch(() => 'dead');
      // The test starts the next job at the very moment at which the end of the process is reported.
      expect(await dying.then(() => worker.run({ work: 'next' }))).toBe('next');
      await worker.end();
      expect(await worker.run({ work: 'after the end' })).toBe('after the end');
    },
  );

  it('when a worker process is killed between two jobs, at most one job fails', async () => {
    for (let time = 0; time < 20; time++) {
      const pid = await worker.run({ work: 'pid' });
      process.kill(Number(pid), 'SIGKILL');
      // The kernel closes the channel of the killed process before Node reports the end of the process. In every second
      // round, the test therefore waits a little before it starts the next job.
      if (time % 2 === 0) await new Promise((resolve) => setTimeout(resolve, time / 4));
      await worker.run({ work: 'perhaps lost' }).catch(() => undefined);
      expect(await worker.run({ work: 'next' })).toBe('next');
    }
  });

  it('an idle worker process is ended, and the next job starts it again', async () => {
    const brief = new WorkerProcess<{ work: string }, string>(program, [], 50);
    const pid = Number(await brief.run({ work: 'pid' }));
    for (const until = Date.now() + 5_000; isAlive(pid) && Date.now() < until;)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(isAlive(pid)).toBe(false);
    expect(await brief.run({ work: 'next' })).toBe('next');
    await brief.end();
  });

  it('every job of a worker process fails if the program file of the process does not exist', async () => {
    const missing = new WorkerProcess<{ work: string }, string>(join(folder, 'missing.cjs'), []);
    for (let time = 0; time < 2; time++) await expect(missing.run({ work: 'one' })).rejects.toThrow();
  });
});
