import { ReadShare, type ReadTurn } from './read-share.js';

/** Waits until all pending callbacks have run, and returns whether the read has begun. */
const hasBegun = async ({ ready }: ReadTurn): Promise<boolean> => {
  if (ready === null) return true;
  const later = new Promise((resolve) => setImmediate(() => resolve('waits')));
  return (await Promise.race([ready.then(() => 'begun'), later])) === 'begun';
};
const LONG_MS = 60_000;

describe('the limit of simultaneous large reads for each account', () => {
  it('runs two large reads of an account at a time while no other caller sends requests, however long the reads take', async () => {
    const share = new ReadShare();
    share.noteRequest('a');
    share.charge('a', LONG_MS);
    const turns = [share.begin('a'), share.begin('a'), share.begin('a')];
    expect(await Promise.all(turns.map(hasBegun))).toEqual([true, true, false]);
    turns[1].end();
    expect(await hasBegun(turns[2])).toBe(true);
    for (const turn of turns) turn.end();
  });

  it('runs one large read of each account at a time while other callers send requests', async () => {
    const share = new ReadShare();
    share.noteRequest('b');
    share.noteRequest('a');
    const turns = [share.begin('a'), share.begin('a'), share.begin('b')];
    expect(await Promise.all(turns.map(hasBegun))).toEqual([true, false, true]);
    turns[0].end();
    await turns[1].ready;
    for (const turn of turns) turn.end();
  });

  it('while other accounts send requests, delays large reads only of an account whose earlier reads were slow', async () => {
    const share = new ReadShare();
    share.charge('a', LONG_MS);
    share.noteRequest('b');
    const [first, second, other] = [share.begin('a'), share.begin('a'), share.begin('b')];
    expect(await Promise.all([first, second, other].map(hasBegun))).toEqual([false, false, true]);
    await first.ready;
    first.end();
    await second.ready;
    for (const turn of [second, other]) turn.end();
  });

  it('refuses a large read that waits too long, and drops a large read whose caller disconnected', async () => {
    const share = new ReadShare();
    const underWay = [share.begin('a'), share.begin('a')];
    const waiting = [share.begin('a', 1), share.begin('a')];
    const refusals = waiting.map(({ ready }) => expect(ready).rejects.toMatchObject({ code: 'rate_limited' }));
    waiting[1].end();
    await Promise.all(refusals);
    for (const turn of underWay) turn.end();
    expect(await hasBegun(share.begin('a'))).toBe(true);
  });
});
