import fs from 'node:fs';
import { Readable } from 'node:stream';
import { runAdminCommand } from '../../src/admin-cli';
import { nextPath } from '../support/answers';
import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { OAuth } from '../support/oauth';

let app: TestApp;
let oauth: OAuth;
let token: string;

beforeAll(async () => {
  app = await startApp();
  oauth = new OAuth(app);
  token = await app.given.operator();
});
afterAll(() => app.close());

const call = (method: string, path: string, body?: unknown) => app.call(method, path, { token, body });
const faults = (answer: Answer) =>
  answer.body.errors.map(({ pointer, parameter, code }: Record<string, string>) => `${pointer ?? parameter} ${code}`);
const audited = async (action: string, subject: string) => {
  const answer = await call('GET', `/admin/audit?action=${action}&subject=${encodeURIComponent(subject)}`);
  return answer.body as { actor: string; request_id: string }[];
};

describe('/admin/users', () => {
  const body = (changes: object = {}) => ({
    username: app.given.unique('user-'),
    password: 'correct horse battery',
    scopes: ['read', 'create'],
    ...changes,
  });

  it('creates a user who can log in, and returns every member except the password', async () => {
    const account = await app.given.account();
    const user = body({ account_codes: [account, account], scopes: ['read', 'create', 'read'] });
    const answer = await call('POST', '/admin/users', user);
    expect(answer.status).toBe(201);
    const model = {
      username: user.username,
      account_codes: [account],
      scopes: ['read', 'create'],
      subscription_ids: [],
      disabled: false,
      created_datetime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    };
    expect(answer.body).toEqual(model);
    expect((await call('GET', `/admin/users/${user.username}`)).body).toEqual(model);
    const granted = await oauth.byPassword({ ...user, account, ...(await oauth.application()) });
    expect([granted.status, granted.body.scope]).toEqual([200, 'create read']);
    expect(await audited('user.create', user.username)).toMatchObject([
      { actor: expect.stringMatching(/^user-/), request_id: answer.headers.get('x-request-id') },
    ]);
  });

  it('a username consists of the characters A-Z, a-z, 0-9 and ._@+-, and a path with any other username gets 404', async () => {
    const odd = 'Zo.e_O-Neill+test@example.org';
    expect((await call('POST', '/admin/users', body({ username: odd }))).body.username).toBe(odd);
    const username = 'Zoë O’Neill';
    expect(faults(await call('POST', '/admin/users', body({ username })))).toEqual(['/username username_invalid']);
    const path = `/admin/users/${encodeURIComponent(username)}`;
    expect((await call('PUT', path, { disabled: true })).body.code).toBe('not_found');
  });

  it("refuses null as a password or as an application's name, and reports the other faults of the body as well", async () => {
    const { body: user } = await call('POST', '/admin/users', body({}));
    expect(
      faults(await call('PUT', `/admin/users/${user.username}`, { password: null, scopes: ['write'] })).sort(),
    ).toEqual(['/password required', '/scopes/0 scope_unknown']);
    const { body: application } = await call('POST', '/admin/applications', { name: 'Portal', scopes: ['read'] });
    const path = `/admin/applications/${application.consumer_key}`;
    expect(faults(await call('PUT', path, { name: null, disabled: 1 })).sort()).toEqual([
      '/disabled type_invalid',
      '/name required',
    ]);
  });

  it.each(['system', 'Several'])(
    'refuses a username that has a reserved meaning in the audit log: %s',
    async (username) => {
      expect(faults(await call('POST', '/admin/users', body({ username })))).toEqual(['/username username_invalid']);
    },
  );

  it('reports all faults in the body of a new user in one response', async () => {
    const answer = await call('POST', '/admin/users', {
      username: ' x',
      password: 'eleven char',
      account_codes: ['', 1],
      scopes: ['read', 'write'],
      passwrd: 'x',
    });
    expect(answer.status).toBe(400);
    expect(faults(answer).sort()).toEqual([
      '/account_codes/0 blank',
      '/account_codes/1 type_invalid',
      '/password password_weak',
      '/passwrd unknown_field',
      '/scopes/1 scope_unknown',
      '/username username_invalid',
    ]);
    expect(faults(await call('POST', '/admin/users', {})).sort()).toEqual([
      '/password required',
      '/scopes required',
      '/username required',
    ]);
  });

  it.each([
    ['username', ''],
    ['username', 'a/b'],
    ['username', 'a\\b'],
    ['username', '..'],
    ['username', 'a\u0000b'],
    ['username', 'a\ud800'],
    ['username', 'x'.repeat(65)],
    ['username', 'a\u200bb'],
    ['username', '\u0430dmin'],
    ['password', 'x'.repeat(11)],
    ['password', 'x'.repeat(129)],
    ['password', 'x'.repeat(12) + '\u0000'],
    ['scopes', 'read'],
    ['account_codes', 'AB'],
  ])('refuses a user with an invalid %s', async (name, value) => {
    const answer = await call('POST', '/admin/users', body({ [name]: value }));
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].pointer).toBe(`/${name}`);
  });

  it('accepts passwords of 12 to 128 characters, counted as code points', async () => {
    const keys = Array.from({ length: 128 }, (_, at) => String.fromCodePoint(0x1f400 + ((at * 37) % 200))).join('');
    for (const password of ['x7-Qp!m2Zk_9', keys])
      expect((await call('POST', '/admin/users', body({ password }))).status).toBe(201);
  });

  it.each(['password1234', ' '.repeat(12), 'short', 'x'.repeat(129), 'Qwertyuiop12'])(
    'refuses %j as a password, and keeps the old password',
    async (password) => {
      expect(faults(await call('POST', '/admin/users', body({ password })))).toEqual(['/password password_weak']);
      const login = await oauth.login();
      const changed = await call('PUT', `/admin/users/${login.username}`, { password });
      expect([changed.status, ...faults(changed)]).toEqual([400, '/password password_weak']);
      expect((await oauth.byPassword(login)).status).toBe(200);
    },
  );

  it('refuses the username as a password, whether in upper or lower case', async () => {
    const username = 'some.long.user.name';
    expect(faults(await call('POST', '/admin/users', body({ username, password: 'Some.Long.User.Name' })))).toEqual([
      '/password password_weak',
    ]);
  });

  it('reports weak passwords, unknown accounts and malformed members in one response when a user is created or updated', async () => {
    const wrong = { password: 'password1234', account_codes: ['NOSUCH', 1], scopes: ['write'] };
    const all = [
      '/account_codes/0 account_not_found',
      '/account_codes/1 type_invalid',
      '/password password_weak',
      '/scopes/0 scope_unknown',
    ];
    expect(faults(await call('POST', '/admin/users', body(wrong))).sort()).toEqual(all);
    const { body: user } = await call('POST', '/admin/users', body());
    expect(faults(await call('PUT', `/admin/users/${user.username}`, wrong)).sort()).toEqual(all);
  });

  it('refuses a taken username, and reports the position of each unknown account in the request', async () => {
    const account = await app.given.account();
    const unknown = await call('POST', '/admin/users', body({ account_codes: ['NOSUCH', account, 'NONE'] }));
    expect(faults(unknown)).toEqual(['/account_codes/0 account_not_found', '/account_codes/2 account_not_found']);
    const user = body();
    expect((await call('POST', '/admin/users', user)).status).toBe(201);
    const again = await call('POST', '/admin/users', user);
    expect([again.status, again.body.code]).toEqual([409, 'username_taken']);
    const parallel = body();
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', '/admin/users', parallel)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  it('PUT changes only those members of a user that the request contains, and null resets an optional member', async () => {
    const [one, two] = [await app.given.account(), await app.given.account()];
    const user = body({ account_codes: [one] });
    await call('POST', '/admin/users', user);
    const put = (changes: object) => call('PUT', `/admin/users/${user.username}`, changes);
    expect((await put({})).body).toMatchObject({ account_codes: [one], scopes: ['read', 'create'], disabled: false });
    expect((await put({ scopes: ['update'] })).body).toMatchObject({ account_codes: [one], scopes: ['update'] });
    expect((await put({ account_codes: [two] })).body).toMatchObject({ account_codes: [two], scopes: ['update'] });
    expect((await put({ disabled: true, account_codes: null })).body).toMatchObject({
      account_codes: [],
      disabled: true,
    });
    expect((await put({ disabled: null, scopes: null })).body).toMatchObject({ scopes: [], disabled: false });
    expect(faults(await put({ password: null }))).toEqual(['/password required']);
    expect(faults(await put({ username: 'other' }))).toEqual(['/username unknown_field']);
    const before = (await call('GET', `/admin/users/${user.username}`)).body;
    expect(faults(await put({ scopes: ['read'], account_codes: ['NOSUCH'] }))).toEqual([
      '/account_codes/0 account_not_found',
    ]);
    expect((await call('GET', `/admin/users/${user.username}`)).body).toEqual(before);
    expect((await audited('user.update', user.username)).length).toBe(5);
  });

  it('answers 404 for an unknown user', async () => {
    for (const answer of [
      await call('GET', '/admin/users/nobody'),
      await call('PUT', '/admin/users/nobody', { disabled: true }),
    ])
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });

  it('lists users newest first, page by page', async () => {
    const made: string[] = [];
    for (let at = 0; at < 5; at++) {
      const user = body();
      made.unshift(user.username);
      await call('POST', '/admin/users', user);
    }
    const listed: string[] = [];
    let path: string | undefined = '/admin/users?limit=2';
    while (path && listed.length < 5) {
      const page: Awaited<ReturnType<typeof call>> = await call('GET', path);
      listed.push(...page.body.map((user: { username: string }) => user.username));
      path = nextPath(page);
    }
    expect(listed.slice(0, 5)).toEqual(made);
    expect(faults(await call('GET', '/admin/users?limit=0'))).toEqual(['limit limit_invalid']);
    expect((await call('GET', '/admin/users?limit=99999999999999999999')).status).toBe(200);
    expect((await call('GET', '/admin/users?cursor=x')).status).toBe(400);
  });
});

describe('/admin/applications', () => {
  it('creates an application, and shows its secret only once', async () => {
    const answer = await call('POST', '/admin/applications', { name: 'Portal', scopes: ['read'] });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      consumer_key: expect.stringMatching(/^[A-Z0-9]{20}$/),
      consumer_secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    const { consumer_key, consumer_secret } = answer.body;
    const model = {
      consumer_key,
      name: 'Portal',
      scopes: ['read'],
      grants: ['password', 'refresh_token'],
      account_codes: [],
      subscription_ids: [],
      disabled: false,
      created_datetime: expect.any(String),
    };
    expect((await call('GET', `/admin/applications/${consumer_key}`)).body).toEqual(model);
    const list = await call('GET', '/admin/applications?limit=1');
    expect(list.body).toEqual([model]);
    expect(list.text).not.toContain(consumer_secret);
    expect(await audited('application.create', consumer_key)).toHaveLength(1);
  });

  it('replaces the secret of an application, and refuses the old secret immediately', async () => {
    const login = await oauth.login();
    const { access_token } = await oauth.tokens(login);
    const rotated = await call('POST', `/admin/applications/${login.consumer_key}/rotate-secret`);
    expect(rotated.status).toBe(200);
    expect(rotated.body.consumer_key).toBe(login.consumer_key);
    expect(rotated.body.consumer_secret).not.toBe(login.consumer_secret);
    expect((await oauth.byPassword(login)).body.error).toBe('invalid_client');
    expect((await oauth.byPassword({ ...login, ...rotated.body })).status).toBe(200);
    expect((await oauth.knock(login, access_token)).status).toBe(404);
    expect(await audited('application.rotate_secret', login.consumer_key)).toHaveLength(1);
  });

  it('PUT changes only those members of an application that the request contains, and null resets an optional member', async () => {
    const { consumer_key } = await oauth.application(['read'], ['password']);
    const put = (changes: object) => call('PUT', `/admin/applications/${consumer_key}`, changes);
    expect((await put({})).body).toMatchObject({ name: 'test', scopes: ['read'], grants: ['password'] });
    expect((await put({ name: 'Portal', disabled: true })).body).toMatchObject({ name: 'Portal', disabled: true });
    expect((await put({ scopes: null, grants: null, disabled: null })).body).toMatchObject({
      name: 'Portal',
      scopes: [],
      grants: ['password', 'refresh_token'],
      disabled: false,
    });
    expect(faults(await put({ name: null }))).toEqual(['/name required']);
    expect(faults(await put({ name: ' ', grants: ['implicit'], scopes: [''] })).sort()).toEqual([
      '/grants/0 grant_unknown',
      '/name blank',
      '/scopes/0 scope_unknown',
    ]);
    expect(faults(await put({ grants: [] }))).toEqual(['/grants too_few']);
  });

  it('answers 404 for an unknown application', async () => {
    for (const answer of [
      await call('GET', '/admin/applications/NOSUCH'),
      await call('PUT', '/admin/applications/NOSUCH', {}),
      await call('POST', '/admin/applications/NOSUCH/rotate-secret'),
    ])
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });
});

describe('the command line', () => {
  async function run(argv: string[], input = ''): Promise<{ code: number; out: string; err: string }> {
    const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!;
    Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
    let out = '';
    let err = '';
    const spies = [
      jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += String(text)), true)),
      jest.spyOn(process.stderr, 'write').mockImplementation((text) => ((err += String(text)), true)),
    ];
    try {
      return { code: await runAdminCommand(argv, app.app), out, err };
    } finally {
      spies.forEach((spy) => spy.mockRestore());
      Object.defineProperty(process, 'stdin', stdin);
    }
  }
  const credentials = (out: string) => {
    const [, consumer_key, consumer_secret] = /^consumer_key: (\S+)\nconsumer_secret: (\S+)\n$/.exec(out) ?? [];
    return { consumer_key: consumer_key, consumer_secret: consumer_secret };
  };

  it('the command line creates an operator, replaces the secret of an application and disables a user', async () => {
    const password = 'from standard input';
    const made = await run(['create-operator', '--username', 'root'], `${password}\n`);
    expect([made.code, made.err]).toEqual([0, '']);
    const login = { account: '', username: 'root', password, ...credentials(made.out) };
    const { access_token } = await oauth.tokens(login);
    expect((await app.call('GET', '/admin/users', { token: access_token })).status).toBe(200);

    const rotated = await run(['rotate-secret', '--consumer-key', login.consumer_key]);
    expect(rotated.code).toBe(0);
    expect((await oauth.byPassword(login)).status).toBe(401);
    expect((await oauth.byPassword({ ...login, ...credentials(rotated.out) })).status).toBe(200);

    expect((await run(['disable-user', '--username', 'root'])).out).toBe('disabled: root\n');
    expect((await app.call('GET', '/admin/users', { token: access_token })).status).toBe(401);
    expect(await audited('user.create', 'root')).toMatchObject([{ actor: 'system', request_id: null }]);
  });

  it('the command line reports invalid arguments without repeating the password', async () => {
    const short = await run(['create-operator', '--username', 'root2'], 'tooshort\n');
    expect(short.code).toBe(1);
    expect(short.err).toBe('password: Must have at least 12 characters.\n');
    expect(short.err).not.toContain('tooshort');
    const taken = await run(['create-operator', '--username', 'root'], 'long enough to be taken');
    expect([taken.code, taken.out]).toEqual([1, '']);
    expect(taken.err).toContain('taken');
    expect((await run(['rotate-secret', '--consumer-key', 'NOSUCH'])).err).toContain('no such application');
    expect((await run(['disable-user', '--username', 'nobody'])).code).toBe(1);
    for (const argv of [
      [],
      ['unknown'],
      ['disable-user'],
      ['disable-user', '--username'],
      ['disable-user', '--user', 'x'],
    ]) {
      const wrong = await run(argv);
      expect(wrong.code).toBe(2);
      expect(wrong.err).toContain('usage:');
    }
  });
});

it('no row of the database contains a secret, password or token in plain text', async () => {
  const login = await oauth.login();
  const tokens = await oauth.tokens(login);
  await oauth.byPassword({ ...login, username: login.password, password: login.consumer_secret });
  await call('POST', '/admin/users', {
    username: app.given.unique('u'),
    password: 'a secret long password',
    scopes: [],
  });
  const secrets = [
    login.password,
    login.consumer_secret,
    tokens.access_token,
    tokens.refresh_token,
    'a secret long password',
    token,
  ];
  const tables = await app.given.sql(
    `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  expect(tables.length).toBeGreaterThan(10);
  for (const { table_name } of tables) {
    const rows = await app.given.sql(`SELECT to_jsonb(row)::text AS text FROM ${table_name as string} row`);
    const dump = rows.map((row) => row['text'] as string).join('\n');
    for (const secret of secrets) {
      expect(dump).not.toContain(secret);
      expect(dump).not.toContain(Buffer.from(secret).toString('hex'));
    }
  }
});

it('the log contains no secret, password or token', async () => {
  let log = '';
  // The logger writes directly to the file descriptor of stdout, and may write several lines at once.
  const writeSync = fs.writeSync;
  const write = jest.spyOn(fs, 'writeSync').mockImplementation(((fd: number, text: string, ...rest: never[]) => {
    if (fd !== process.stdout.fd) return writeSync(fd, text, ...rest);
    log += text;
    return Buffer.byteLength(text);
  }) as typeof fs.writeSync);
  const talkative = await startApp({ env: { LOG_LEVEL: 'trace' }, databaseUrl: app.databaseUrl });
  try {
    const client = new OAuth(talkative);
    const login = await client.login();
    const tokens = await client.tokens(login);
    const password = 'a password sent where it does not belong';
    await client.byPassword({ ...login, password });
    await client.byPassword({ ...login, username: password });
    await client.post(`/token?password=${encodeURIComponent(password)}`, login, {});
    await client.post('/token', { ...login, consumer_secret: password }, {});
    await client.byRefreshToken(login, tokens.refresh_token);
    await client.byRefreshToken(login, tokens.refresh_token);
    await client.post('/introspect', login, { token: tokens.access_token });
    await talkative.call('GET', `/admin/users?access_token=${tokens.access_token}`, { token });
    await talkative.call('POST', '/admin/users', { token, body: { password, scopes: [password] } });
    await talkative.call('POST', '/admin/users', { token, body: `{"password": "${password}"` });
    await talkative.call('GET', `/admin/users/${encodeURIComponent(password)}`, { token });
    await eventually(() =>
      expect(log.split('\n').filter((line) => line.includes('"request"')).length).toBeGreaterThan(10),
    );
    for (const secret of [
      login.password,
      login.consumer_secret,
      tokens.access_token,
      tokens.refresh_token,
      token,
      password,
      encodeURIComponent(password),
    ])
      expect(log).not.toContain(secret);
  } finally {
    await talkative.close();
    write.mockRestore();
  }
});
