import { setTimeout as pause } from 'node:timers/promises';
import { callerOf } from '../../test/support/callers';
import { inTheNameOf } from './context/request-context.js';
import { Batcher } from './batcher.js';

/** Creates a batcher of texts that records each batch. The test decides when a batch ends. */
function batcherOf(most: number) {
  const batches: (readonly string[])[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];
  const batcher = new Batcher<{ text: string; reject: (error: unknown) => void }>(
    most,
    (batch) => {
      batches.push(batch.map(({ text }) => text));
      return new Promise((resolve) => ends.push(resolve));
    },
    () => new Error('late'),
  );
  const addOne = (text: string): void =>
    batcher.add({ text, reject: (error) => refused.push(`${text} ${(error as Error).message}`) });
  const add = (caller: string, ...texts: string[]): void =>
    inTheNameOf(callerOf(caller), null, () => texts.forEach(addOne));
  const endFirst = async (): Promise<void> => {
    ends.shift()!();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { batches, refused, add, endFirst };
}

describe('Batcher', () => {
  it('a request starts immediately when no batch is running, and requests that arrive during a batch form the next batch', async () => {
    const { batches, add, endFirst } = batcherOf(10);
    add('one', 'a');
    add('one', 'b', 'c');
    expect(batches).toEqual([['a']]);
    await endFirst();
    expect(batches).toEqual([['a'], ['b', 'c']]);
  });

  it('a new batch does not wait for slow batches, unless four of them are running', async () => {
    const { batches, add, endFirst } = batcherOf(10);
    for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) {
      add('one', text);
      await pause(40);
    }
    expect(batches).toEqual([['a'], ['b'], ['c'], ['d']]);
    await endFirst();
    expect(batches.slice(4)).toEqual([['e', 'f']]);
  });

  it('a full batch takes requests from the callers in turn, however many each caller has queued', async () => {
    const { batches, add, endFirst } = batcherOf(3);
    add('flood', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7');
    add('one', 'o1', 'o2');
    add('two', 't1');
    for (let ended = 0; ended < 4; ended++) await endFirst();
    expect(batches).toEqual([['f1'], ['f2', 'o1', 't1'], ['f3', 'o2', 'f4'], ['f5', 'f6', 'f7']]);
  });

  it('the requests of one caller are batched in order of arrival, in full batches', async () => {
    const { batches, add, endFirst } = batcherOf(2);
    add('one', 'a', 'b', 'c', 'd');
    for (let ended = 0; ended < 3; ended++) await endFirst();
    expect(batches).toEqual([['a'], ['b', 'c'], ['d']]);
  });

  it('the batcher refuses only requests that have waited for five seconds', async () => {
    jest.useFakeTimers();
    try {
      const { batches, refused, add, endFirst } = batcherOf(10);
      for (const text of ['a', 'b', 'c', 'd']) {
        add('one', text);
        jest.advanceTimersByTime(40);
      }
      add('one', 'e', 'f');
      add('two', 'g');
      jest.advanceTimersByTime(3_500);
      add('two', 'h');
      expect(refused).toEqual([]);
      jest.advanceTimersByTime(2_500);
      expect(refused).toEqual(['e late', 'f late', 'g late']);
      await endFirst();
      expect(batches.slice(4)).toEqual([['h']]);
      jest.advanceTimersByTime(10_000);
      expect(refused).toHaveLength(3);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });
});
