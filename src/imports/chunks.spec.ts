import { chunksOf } from './chunks';
import type { WaitingRow } from './imports.rules';

async function sizesOf(rows: Iterable<WaitingRow>, pauseMs = 0): Promise<number[]> {
  const sizes: number[] = [];
  async function* coming(): AsyncIterable<WaitingRow> {
    for (const row of rows) {
      await jest.advanceTimersByTimeAsync(pauseMs);
      yield row;
    }
  }
  for await (const chunk of chunksOf(coming())) sizes.push(chunk.length);
  return sizes;
}

const lines = (count: number, bytes = 10): WaitingRow[] =>
  Array.from({ length: count }, () => ({ line: 1, json: '{'.padEnd(bytes) }));

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('each chunk of an import has 100 rows, except the last chunk, which has the remaining rows', async () => {
  expect(await sizesOf(lines(250))).toEqual([100, 100, 50]);
});

it('if the rows of an import are long, a chunk ends with the row that brings it to 256 KiB', async () => {
  expect(await sizesOf(lines(5, 100 * 1024))).toEqual([3, 2]);
});

it('if the rows of an import arrive slowly, the rows that have arrived are stored after half a minute', async () => {
  expect(await sizesOf(lines(7), 12_000)).toEqual([3, 3, 1]);
  expect(await sizesOf(lines(3), 29_000)).toEqual([2, 1]);
});
