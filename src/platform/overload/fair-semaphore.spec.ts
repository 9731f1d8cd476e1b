import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { FairSemaphore } from './fair-semaphore.js';

const tooLate = () => new Error('too late');

describe('the fair semaphore', () => {
  it('the fair semaphore admits requests while capacity is free, and later the waiting callers in turn', async () => {
    const semaphore = new FairSemaphore(10, 1000, tooLate);
    const inside: string[] = [];
    const enter = async (name: string, caller: string, size: number) => {
      await semaphore.enter(caller, size);
      inside.push(name);
    };
    for (const name of ['a1', 'a2', 'a3', 'a4']) void enter(name, 'a', 6);
    void enter('b1', 'b', 6);
    await turn();
    expect([inside, semaphore.waiting]).toEqual([['a1'], 4]);
    for (let left = 0; left < 4; left++) {
      semaphore.leave(6);
      await turn();
    }
    expect([inside, semaphore.waiting]).toEqual([['a1', 'a2', 'b1', 'a3', 'a4'], 0]);
  });

  it('an idle fair semaphore admits a request above the limit; requests that wait too long are refused', async () => {
    const semaphore = new FairSemaphore(10, 20, tooLate);
    expect(semaphore.enter('a', 25)).toBeNull();
    await expect(semaphore.enter('b', 1)).rejects.toThrow('too late');
    semaphore.leave(25);
    expect(semaphore.enter('b', 1)).toBeNull();
  });

  it('a request that the fair semaphore refuses does not delay the next request in the queue', async () => {
    const semaphore = new FairSemaphore(1, 40, tooLate);
    expect(semaphore.enter('a', 1)).toBeNull();
    const refused = semaphore.enter('b', 1)!.catch((error: Error) => error.message);
    await pause(20);
    const next = semaphore.enter('b', 1)!;
    expect(await refused).toBe('too late');
    semaphore.leave(1);
    await next;
  });
});
