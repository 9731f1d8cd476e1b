import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { DomainError } from '../../platform/errors.js';
import { WorkerProcess } from '../../platform/worker-process.js';
import { holdHashing } from '../../../test/support/races.js';
import { Passwords, PROCESSES } from './passwords.js';

const FLOW = { group: 'an application', member: 'an address' };

/** Returns the ids of the hashing processes that this process has started. */
function hashingProcesses(): number[] {
  return readdirSync(`/proc/self/task`)
    .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean))
    .map(Number)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('password-process'));
}

describe('Passwords', () => {
  const passwords = new Passwords();
  afterAll(() => passwords.onApplicationShutdown());

  it('hashes passwords with argon2id at the configured cost', async () => {
    const hashed = await passwords.hash('correct horse battery');
    expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await expect(passwords.verify(FLOW, hashed, 'correct horse battery')).resolves.toBe(true);
    await expect(passwords.verify(FLOW, hashed, 'correct horse batterY')).resolves.toBe(false);
  });

  it('refuses the password of an unknown user after comparing it with a decoy hash of the same cost', async () => {
    await expect(passwords.verify(FLOW, null, 'correct horse battery')).resolves.toBe(false);
    const decoy = (passwords as unknown as { decoy: string }).decoy;
    expect(decoy).toHaveLength((await passwords.hash('correct horse battery')).length);
    expect(decoy).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it('refuses a password check that waits longer than 20 s', async () => {
    const hashed = await passwords.hash('correct horse battery');
    // The pause of this group would last longer than the test, because the clock is moved.
    const flow = { group: 'late', member: '' };
    const held = holdHashing();
    const begun = Array.from({ length: PROCESSES }, () => passwords.verify(flow, hashed, 'wrong'));
    const late = passwords.verify(flow, hashed, 'wrong');
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 21_000);
    held.release();
    await expect(late).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await Promise.all(begun)).not.toContain(true);
    clock.mockRestore();
  }, 60_000);

  it('continues to check passwords after a check failed because the stored hash could not be parsed', async () => {
    await expect(passwords.verify(FLOW, 'no hash', 'correct horse battery')).rejects.toThrow();
    await expect(passwords.verify(FLOW, null, 'correct horse battery')).resolves.toBe(false);
  });

  it('on Linux, hashes passwords in processes of lower priority', async () => {
    if (process.platform !== 'linux') return;
    await passwords.hash('correct horse battery');
    expect(hashingProcesses().map((pid) => getPriority(pid))).toContain(getPriority() + 10);
  });

  it('a hashing process does not get the environment variables of the service', async () => {
    if (process.platform !== 'linux') return;
    await passwords.hash('correct horse battery');
    for (const pid of hashingProcesses())
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toMatch(/^(NODE_CHANNEL_[A-Z_]+=\w+\0)*$/);
  });

  it('the hashing processes continue to check passwords after SIGTERM', async () => {
    if (process.platform !== 'linux') return;
    const hashed = await passwords.hash('correct horse battery');
    for (const pid of hashingProcesses()) process.kill(pid, 'SIGTERM');
    await expect(passwords.verify(FLOW, hashed, 'correct horse battery')).resolves.toBe(true);
  });

  it('continues to check passwords after a hashing process was killed', async () => {
    const hashed = await passwords.hash('correct horse battery');
    for (const pid of hashingProcesses()) process.kill(pid, 'SIGKILL');
    await passwords.verify(FLOW, hashed, 'correct horse battery').catch(() => undefined);
    await expect(passwords.verify(FLOW, hashed, 'correct horse battery')).resolves.toBe(true);
  });

  it('pauses longer after each hash of a caller with waiting entries, until the caller has no more entries', async () => {
    jest.useFakeTimers();
    const begun: number[] = [];
    const run = jest.spyOn(WorkerProcess.prototype, 'run').mockImplementation(() => {
      begun.push(performance.now());
      return Promise.resolve({ value: true, ms: 1 });
    });
    const queue = new Passwords();
    const pausesOf = async (checks: number): Promise<number[]> => {
      begun.length = 0;
      const all = Array.from({ length: checks }, () => queue.verify(FLOW, 'a hash', 'a password'));
      await jest.advanceTimersByTimeAsync(2_000);
      await Promise.all(all);
      return begun.map((at, index) => at - (begun[index - 1] ?? at)).filter((ms) => ms > 0);
    };
    const [first, ...more] = await pausesOf(60);
    expect(first).toBeLessThan(8);
    expect(Math.max(...more)).toBeGreaterThanOrEqual(32);
    expect((await pausesOf(10))[0]).toBe(first);
    // Another caller of the same group does not wait for the pauses of the flood.
    const all = Array.from({ length: 60 }, () => queue.verify(FLOW, 'a hash', 'a password'));
    await jest.advanceTimersByTimeAsync(1_000);
    const from = performance.now();
    let waited = Infinity;
    const other = queue.verify({ ...FLOW, member: 'another address' }, 'a hash', 'a password');
    void other.then(() => (waited = performance.now() - from));
    await jest.advanceTimersByTimeAsync(1_000);
    await Promise.all([other, ...all]);
    expect(waited).toBeLessThan(8);
    run.mockRestore();
    jest.useRealTimers();
    await queue.onApplicationShutdown();
  });

  it('when the queue of password checks is full, refuses only checks of the caller with the most queued checks', async () => {
    const hashed = await passwords.hash('correct horse battery');
    const held = holdHashing();
    const refused: DomainError[] = [];
    for (let at = 0; at < PROCESSES + 140; at++)
      passwords.verify({ group: 'a flood', member: '' }, hashed, 'wrong').catch((error) => refused.push(error));
    const other = passwords.verify(FLOW, hashed, 'correct horse battery');
    await new Promise(setImmediate);
    expect(refused).toHaveLength(13);
    expect(refused.every((error) => error.code === 'service_unavailable' && error.headers['Retry-After'])).toBe(true);
    held.release();
    await expect(other).resolves.toBe(true);
    expect(held.begun.indexOf('correct horse battery')).toBeLessThanOrEqual(PROCESSES + 1);
    // The time limit is long, because hashing has low priority and is slow on a busy machine.
  }, 60_000);
});
