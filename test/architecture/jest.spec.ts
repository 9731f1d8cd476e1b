import Module from 'node:module';
import { runInThisContext } from 'node:vm';
import pg from 'pg';
import { Clock } from '../../src/platform/clock';

describe('the environment of the tests', () => {
  it("Jest runs a test file in Node's own context, so that libraries and tests share one Error class", () => {
    expect(runInThisContext('Error')).toBe(Error);
  });

  it("Node's own require caches libraries for the next test file, but not the project's modules", () => {
    expect([pg.Client, Clock]).toEqual([expect.any(Function), expect.any(Function)]);
    const kept = Object.keys((Module as unknown as { _cache: object })._cache);
    expect(kept).toContain(require.resolve('pg'));
    expect(kept).not.toContain(require.resolve('../../src/platform/clock'));
  });
});
