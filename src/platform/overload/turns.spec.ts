import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { Turns } from './turns.js';

const tooLate = () => new Error('too late');

describe('the fair semaphore', () => {
  it('admits requests that fit, and then callers in turn as capacity is released', async () => {
    const turns = new Turns(10, 1000, tooLate);
    const inside: string[] = [];
    const enter = async (name: string, caller: string, size: number) => {
      await turns.enter(caller, size);
      inside.push(name);
    };
    for (const name of ['a1', 'a2', 'a3', 'a4']) void enter(name, 'a', 6);
    void enter('b1', 'b', 6);
    await turn();
    expect([inside, turns.waiting]).toEqual([['a1'], 4]);
    for (let left = 0; left < 4; left++) {
      turns.leave(6);
      await turn();
    }
    expect([inside, turns.waiting]).toEqual([['a1', 'a2', 'b1', 'a3', 'a4'], 0]);
  });

  it('admits a request that is larger than the limit alone, and refuses a request that waits too long', async () => {
    const turns = new Turns(10, 20, tooLate);
    expect(turns.enter('a', 25)).toBeNull();
    await expect(turns.enter('b', 1)).rejects.toThrow('too late');
    turns.leave(25);
    expect(turns.enter('b', 1)).toBeNull();
  });

  it('does not let a refused request delay the next in the queue', async () => {
    const turns = new Turns(1, 40, tooLate);
    expect(turns.enter('a', 1)).toBeNull();
    const refused = turns.enter('b', 1)!.catch((error: Error) => error.message);
    await pause(20);
    const next = turns.enter('b', 1)!;
    expect(await refused).toBe('too late');
    turns.leave(1);
    await next;
  });
});
