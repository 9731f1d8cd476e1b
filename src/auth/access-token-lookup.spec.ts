import type { Database } from '../platform/database/database.js';
import { AccessTokenLookup } from './access-token-lookup.js';

describe('AccessTokenLookup', () => {
  it('asks nobody about what cannot be a token', async () => {
    const query = jest.fn();
    const lookup = new AccessTokenLookup({ pool: { query } } as unknown as Database);
    for (const text of ['', 'x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}\0`, `${'a'.repeat(42)}=`])
      await expect(lookup.find(text)).resolves.toBeNull();
    expect(query).not.toHaveBeenCalled();
  });
});
