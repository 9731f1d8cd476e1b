import { DomainError } from '../platform/errors.js';
import { Passwords } from './passwords.js';

describe('Passwords', () => {
  const passwords = new Passwords();
  beforeAll(() => passwords.onModuleInit());

  it('hashes with argon2id at the stated cost', async () => {
    const hashed = await passwords.hash('correct horse battery');
    expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await expect(passwords.verify(hashed, 'correct horse battery')).resolves.toBe(true);
    await expect(passwords.verify(hashed, 'correct horse batterY')).resolves.toBe(false);
  });

  it('refuses every password of an unknown user', async () => {
    await expect(passwords.verify(null, 'correct horse battery')).resolves.toBe(false);
  });

  it('sends away what exceeds the queue, serves the rest, and is free again', async () => {
    const hashed = await passwords.hash('correct horse battery');
    const results = await Promise.allSettled(Array.from({ length: 300 }, () => passwords.verify(hashed, 'wrong')));
    const served = results.filter((result) => result.status === 'fulfilled');
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as DomainError] : []));
    expect(served.length).toBeGreaterThanOrEqual(129);
    expect(served.length).toBeLessThanOrEqual(130);
    expect(refused.every((error) => error.code === 'service_unavailable' && error.headers['Retry-After'])).toBe(true);
    await expect(passwords.verify(hashed, 'correct horse battery')).resolves.toBe(true);
  });
});
