import type { Database } from '../platform/database/database.js';
import { randomToken } from '../platform/secrets.js';
import { AccessTokenLookup } from './access-token-lookup.js';

/** A pool that keeps every statement until the test lets it end. What a token stands for is proved over HTTP. */
class HeldPool {
  readonly batches: { hashes: Buffer[]; end: (error?: Error) => void }[] = [];

  query({ values }: { values: [Buffer[]] }): Promise<{ rows: object[] }> {
    const [hashes] = values;
    return new Promise((resolve, reject) =>
      this.batches.push({
        hashes,
        end: (error) =>
          error
            ? reject(error)
            : resolve({
                rows: hashes.map((hash, index) => ({
                  n: index + 1,
                  scopes: ['read'],
                  username: hash.toString('hex'),
                  consumer_key: `key ${index}`,
                  is_operator: false,
                  account_codes: [],
                })),
              }),
      }),
    );
  }
}

describe('AccessTokenLookup', () => {
  let pool: HeldPool;
  let lookup: AccessTokenLookup;

  beforeEach(() => {
    pool = new HeldPool();
    lookup = new AccessTokenLookup({ pool } as unknown as Database);
  });

  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('sends at once while few statements are in flight, and gathers what arrives meanwhile', async () => {
    const answers = Array.from({ length: 50 }, () => lookup.find(randomToken()));
    expect(pool.batches.map((batch) => batch.hashes.length)).toEqual([1, 1]);
    pool.batches[0].end();
    await settled();
    expect(pool.batches.map((batch) => batch.hashes.length)).toEqual([1, 1, 48]);
    pool.batches.forEach((batch) => batch.end());
    const callers = await Promise.all(answers);
    expect(new Set(callers.map((caller) => caller?.username)).size).toBe(50);
  });

  it('never answers from a statement that was sent before the call arrived', async () => {
    const token = randomToken();
    const early = [lookup.find(token), lookup.find(token)];
    let answered = false;
    const late = lookup.find(token).then(() => (answered = true));
    pool.batches[0].end();
    pool.batches[1].end();
    await Promise.all(early);
    await settled();
    expect(answered).toBe(false);
    pool.batches[2].end();
    await late;
  });

  it('bounds a batch', async () => {
    const answers = Array.from({ length: 452 }, () => lookup.find(randomToken()));
    for (let at = 0; at < pool.batches.length; at++) {
      pool.batches[at].end();
      await settled();
    }
    expect(pool.batches.map((batch) => batch.hashes.length)).toEqual([1, 1, 200, 200, 50]);
    await Promise.all(answers);
  });

  it('tells every waiting call of a failure, and goes on', async () => {
    const failed = Promise.allSettled([lookup.find(randomToken()), lookup.find(randomToken())]);
    const next = lookup.find(randomToken());
    pool.batches[0].end(new Error('gone'));
    pool.batches[1].end(new Error('gone'));
    expect((await failed).map((result) => result.status)).toEqual(['rejected', 'rejected']);
    await settled();
    pool.batches[2].end();
    await expect(next).resolves.toMatchObject({ isOperator: false });
  });

  it('asks nobody about what cannot be a token', async () => {
    for (const text of ['', 'x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}\0`, `${'a'.repeat(42)}=`])
      await expect(lookup.find(text)).resolves.toBeNull();
    expect(pool.batches).toHaveLength(0);
  });
});
