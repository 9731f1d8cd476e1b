import { PasswordStrength } from './password-strength.js';

describe('PasswordStrength', () => {
  const strength = new PasswordStrength();
  afterAll(() => strength.onApplicationShutdown());
  const judge = (password: string, username = 'integration-user') =>
    strength.faults(password, username).then(([found]) => found?.code ?? 'strong');

  it.each([
    'password1234',
    ' '.repeat(12),
    'Integration-User',
    'integrationuser1',
    'integration-user Integration-User integration-user',
    'integration-user'.repeat(3),
    'aaaaaaaaaaaaaaaa',
    'qwertyuiop123',
  ])('refuses the weak password %j', async (password) => expect(await judge(password)).toBe('password_weak'));

  it('accepts passwords that are hard to guess, even when many are checked at the same time', async () => {
    const judged = await Promise.all(
      ['seven grey herons wait', 'X4!kq9-Tz0wB', 'correct horse battery'].map((p) => judge(p)),
    );
    expect(judged).toEqual(['strong', 'strong', 'strong']);
  });
});
