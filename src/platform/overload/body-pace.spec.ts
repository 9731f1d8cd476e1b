import { BodyPace } from './body-pace.js';

describe('the rate limit for expensive bodies', () => {
  let pace: BodyPace;
  let log: string[];
  /** Simulates the reading of a body whose processing takes `workMs`. */
  const read = (caller: string, name: string, workMs: number) =>
    void pace.rest(caller).then(
      () => {
        log.push(name);
        pace.charge(caller, workMs);
      },
      (error: { code: string; headers: Record<string, string> }) =>
        log.push(`${name} ${error.code} ${error.headers['Retry-After']}`),
    );
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  beforeEach(() => {
    jest.useFakeTimers();
    pace = new BodyPace();
    log = [];
  });
  afterEach(() => void jest.useRealTimers());

  it('processes the expensive bodies of a caller one after another with an eighth of a core, without delaying other callers', async () => {
    for (const name of ['a1', 'a2', 'a3']) read('a', name, 100);
    read('b', 'b1', 100);
    await pass(0);
    // A caller's first bodies are not delayed, because their processing time is charged only after they have been
    // processed.
    expect(log.filter((name) => name.startsWith('b'))).toEqual(['b1']);
    log = [];
    for (const name of ['a4', 'a5']) read('a', name, 100);
    await pass(2_099);
    expect(log).toEqual([]);
    await pass(1);
    expect(log).toEqual(['a4']);
    await pass(699);
    expect(log).toEqual(['a4']);
    await pass(1);
    expect(log).toEqual(['a4', 'a5']);
  });

  it('does not delay the expensive body of a caller who has been idle long enough', async () => {
    pace.charge('a', 100);
    await pass(700);
    read('a', 'a1', 100);
    await pass(0);
    expect(log).toEqual(['a1']);
  });

  it('refuses expensive bodies that would wait too long, but none from a caller who sends one request at a time', async () => {
    pace.charge('a', 60_000);
    for (const name of ['a1', 'a2', 'a3']) read('a', name, 60_000);
    await pass(5_000);
    expect(log).toEqual(['a1']);
    await pass(3_000);
    expect(log).toEqual(['a1', 'a2 rate_limited 2', 'a3 rate_limited 2']);
    read('a', 'a4', 1);
    await pass(2_000);
    expect(log.at(-1)).toBe('a4');
  });

  it('forgets idle callers when very many callers have sent expensive bodies', () => {
    for (let at = 0; at < 2_500; at++) pace.charge(`caller ${at}`, 0);
    expect(pace.size).toBeLessThanOrEqual(1_000);
  });
});
