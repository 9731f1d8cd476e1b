import { setTimeout as pause } from 'node:timers/promises';
import { callerOf } from '../../test/support/callers';
import { inTheNameOf } from './context/request-context.js';
import { Gathering } from './gathering.js';

/** Gathers texts; the batches so far, each of which ends when it is told to. */
function gatheringOf(most: number) {
  const batches: (readonly string[])[] = [];
  const ends: (() => void)[] = [];
  const gathering = new Gathering<string>(most, (batch) => {
    batches.push(batch);
    return new Promise((resolve) => ends.push(resolve));
  });
  const add = (caller: string, ...texts: string[]): void =>
    inTheNameOf(callerOf(caller), null, () => texts.forEach((text) => gathering.add(text)));
  const endFirst = async (): Promise<void> => {
    ends.shift()!();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { batches, add, endFirst };
}

describe('what is gathered', () => {
  it('begins at once while nothing is under way, and what comes meanwhile is done together when that has ended', async () => {
    const { batches, add, endFirst } = gatheringOf(10);
    add('one', 'a');
    add('one', 'b', 'c');
    expect(batches).toEqual([['a']]);
    await endFirst();
    expect(batches).toEqual([['a'], ['b', 'c']]);
  });

  it('does not wait for work that takes long, of which four are under way at most', async () => {
    const { batches, add, endFirst } = gatheringOf(10);
    for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) {
      add('one', text);
      await pause(40);
    }
    expect(batches).toEqual([['a'], ['b'], ['c'], ['d']]);
    await endFirst();
    expect(batches.slice(4)).toEqual([['e', 'f']]);
  });

  it('is of callers in turn, whatever each has waiting, when it is more than is done at once', async () => {
    const { batches, add, endFirst } = gatheringOf(3);
    add('flood', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7');
    add('one', 'o1', 'o2');
    add('two', 't1');
    for (let ended = 0; ended < 4; ended++) await endFirst();
    expect(batches).toEqual([['f1'], ['f2', 'o1', 't1'], ['f3', 'o2', 'f4'], ['f5', 'f6', 'f7']]);
  });

  it('is of one caller in the order in which it came, no more than is done at once', async () => {
    const { batches, add, endFirst } = gatheringOf(2);
    add('one', 'a', 'b', 'c', 'd');
    for (let ended = 0; ended < 3; ended++) await endFirst();
    expect(batches).toEqual([['a'], ['b', 'c'], ['d']]);
  });
});
