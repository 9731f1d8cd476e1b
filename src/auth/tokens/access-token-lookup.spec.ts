import type { AuthConfig } from '../auth.config';
import type { Database } from '../../platform/database/database.js';
import { sha256 } from '../../platform/secrets.js';
import { AccessTokenLookup } from './access-token-lookup.js';

const config = { operatorPasswords: true } as AuthConfig;

describe('AccessTokenLookup', () => {
  it('sends no database query for a text that cannot be an access token', async () => {
    const query = jest.fn();
    const lookup = new AccessTokenLookup({ pool: { query } } as unknown as Database, config);
    for (const text of ['', 'x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}\0`, `${'a'.repeat(42)}=`])
      await expect(lookup.find(text)).resolves.toBeNull();
    expect(query).not.toHaveBeenCalled();
  });

  it('looks up an access token once for simultaneous requests, and gives each request its own caller object', async () => {
    const asked: Buffer[] = [];
    const query = jest.fn(({ values: [hashes] }: { values: [Buffer[]] }) => {
      asked.push(...hashes);
      const row = { scopes: ['read'], consumer_key: 'client', account_codes: [] };
      return Promise.resolve({
        rows: hashes.map((hash, at) => ({ ...row, n: at + 1, username: hash.toString('hex') })),
      });
    });
    const lookup = new AccessTokenLookup({ pool: { query } } as unknown as Database, config);
    const tokens = ['a'.repeat(43), 'b'.repeat(43), 'c'.repeat(43)];
    const callers = await Promise.all(Array.from({ length: 30 }, (_, at) => lookup.find(tokens[at % 3])));
    expect(callers.map((caller) => caller?.username)).toEqual(
      Array.from({ length: 30 }, (_, at) => sha256(tokens[at % 3]).toString('hex')),
    );
    // All tokens that arrive while a statement runs are looked up together in the next statement. Each token is looked
    // up once.
    expect(asked.length).toBeLessThanOrEqual(1 + tokens.length);
  });
});
