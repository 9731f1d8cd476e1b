import { firstUnexplained, type Operation } from './feed-trace';

const configuration = { name: 'trace', changes: 'aE bE', limit: 10 };

/** Builds a run from operations, each of which ends before the next starts. */
function oneByOne(...operations: object[]): Operation[] {
  return operations.map((one, index) => ({ ...one, start: 2 * index, end: 2 * index + 1 }) as Operation);
}
const begin = (n: number) => ({ what: 'begin', n, xid: n + 1 });
const lock = (n: number) => ({ what: 'lock', n });
const write = (n: number, place: number, position: number) => ({ what: 'write', n, place, position });
const commit = (n: number) => ({ what: 'commit', n });
const page = (...entries: number[]) => ({ what: 'page', entries });

describe('the trace of writers and a reader', () => {
  const overtaken = [begin(0), begin(1), lock(1), write(1, 2, 1), commit(1)];

  it.each<[string, object[]]>([
    ['an entry is listed after its commit', [begin(0), lock(0), write(0, 1, 1), page(), commit(0), page(0), page()]],
    ['an earlier id holds back the page', [...overtaken, page(), lock(0), write(0, 2, 2), commit(0), page(1, 0)]],
    ['a rollback frees the page', [...overtaken, page(), { what: 'roll back', n: 0 }, page(1)]],
  ])('the feed model accepts the trace: %s', (_name, operations) => {
    expect(firstUnexplained(configuration, oneByOne(...operations))).toBeNull();
  });

  it.each<[string, object[], number]>([
    ['a page lists what an earlier id holds back', [...overtaken, page(1)], 5],
    ['a page lists an entry before its commit', [begin(0), lock(0), write(0, 1, 1), page(0)], 3],
    ['a page lists an entry twice', [...overtaken, lock(0), write(0, 2, 2), commit(0), page(1, 0), page(0)], 9],
    ['a page leaves out an entry', [...overtaken, lock(0), write(0, 2, 2), commit(0), page(1)], 8],
    ['a page is out of order', [...overtaken, lock(0), write(0, 2, 2), commit(0), page(0, 1)], 8],
    ['a place is below an id that has ended', [...overtaken, lock(0), write(0, 1, 2)], 6],
  ])('the feed model rejects the trace: %s', (_name, operations, at) => {
    const run = oneByOne(...operations);
    expect(firstUnexplained(configuration, run)).toBe(run[at]);
  });

  it('the change feed checker tries every order of concurrent operations in a trace', () => {
    const [first, ...rest] = oneByOne(begin(0), lock(0), write(0, 1, 1), commit(0));
    const whole = (entries: number[]): Operation => ({ what: 'page', entries, start: 6, end: 8 });
    for (const entries of [[], [0]])
      expect(firstUnexplained(configuration, [first, ...rest, whole(entries)])).toBeNull();
  });
});
