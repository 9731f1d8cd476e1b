import { nextPath } from '../support/answers';
import { startApp, type TestApp } from '../support/app';

let app: TestApp;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
afterAll(() => app.close());

const admin = (method: string, path: string, body?: unknown) =>
  app.call(method, `/admin/accounts${path}`, { token: operator, body });
const lastAudit = async () => (await app.call('GET', '/admin/audit?limit=1', { token: operator })).body[0];

describe('an account', () => {
  it('opens an account with a random code of twelve characters, and writes an audit row', async () => {
    const created = await admin('POST', '', { name: 'State Board' });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      account_code: expect.stringMatching(/^[A-HJKMNP-TV-Z2-9]{12}$/),
      name: 'State Board',
      photo_retention_days: null,
      video_retention_days: null,
      candidate_retention_days: null,
      expiring_days: [],
      created_datetime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(await lastAudit()).toMatchObject({
      action: 'account.create',
      subject: created.body.account_code,
      actor: expect.stringMatching(/^user-/),
      request_id: created.headers.get('x-request-id'),
    });
    expect((await admin('GET', `/${created.body.account_code}`)).body).toEqual(created.body);
  });

  it('lists accounts newest first, page by page', async () => {
    const codes = [];
    for (const name of ['one', 'two', 'three']) codes.unshift((await admin('POST', '', { name })).body.account_code);
    const first = await admin('GET', '?limit=2');
    expect(first.body.map((account: { account_code: string }) => account.account_code)).toEqual(codes.slice(0, 2));
    const next = nextPath(first)!;
    const second = await app.call('GET', next, { token: operator });
    expect(second.body[0].account_code).toBe(codes[2]);
  });

  it.each([
    ['without a body', undefined, { pointer: '', code: 'required' }],
    ['without a name', {}, { pointer: '/name', code: 'required' }],
    ['with a blank name', { name: ' ' }, { pointer: '/name', code: 'blank' }],
    ['with a name of 201 characters', { name: 'n'.repeat(201) }, { pointer: '/name', code: 'too_long' }],
    [
      'with a code of its own choice',
      { name: 'n', account_code: 'X' },
      { pointer: '/account_code', code: 'unknown_field' },
    ],
  ])('refuses to open an account %s', async (_title, body, fault) => {
    const answer = await admin('POST', '', body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([expect.objectContaining(fault)]);
  });
});

describe('a change of an account', () => {
  it('a PUT of an account accepts an earlier response as its body; a retention period may be null, but not the name', async () => {
    const { account_code } = (await admin('POST', '', { name: 'Board' })).body;
    const path = `/${account_code}`;
    const put = await admin('PUT', path, { photo_retention_days: 30 });
    expect((await admin('PUT', path, put.body)).body).toEqual(put.body);
    const refused = await admin('PUT', path, { name: null, video_retention_days: 0 });
    expect(refused.body.errors.map((fault: { pointer: string; code: string }) => [fault.pointer, fault.code])).toEqual([
      ['/name', 'required'],
      ['/video_retention_days', 'out_of_range'],
    ]);
    const cleared = await admin('PUT', path, { photo_retention_days: null });
    expect(cleared.body).toEqual({ ...put.body, photo_retention_days: null });
  });
});

describe('permission to administer accounts', () => {
  it.each([
    ['POST', ''],
    ['GET', ''],
    ['GET', '/{account}'],
    ...['tests', 'schools', 'accommodations', 'attribute-keys', 'vouchers'].flatMap((kind) => [
      ['GET', `/{account}/${kind}`],
      ['GET', `/{account}/${kind}/X`],
      ['PUT', `/{account}/${kind}/X`],
      ['DELETE', `/{account}/${kind}/X`],
    ]),
  ])('refuses %s /admin/accounts%s without the admin scope', async (method, path) => {
    const { account, token } = await app.given.scene();
    const address = `/admin/accounts${path.replace('{account}', account)}`;
    expect((await app.call(method, address)).status).toBe(401);
    const client = await app.call(method, address, { token });
    expect([client.status, client.body.code]).toEqual([403, 'insufficient_scope']);
  });
});

/**
 * The kinds of catalogue entries, without tests and vouchers. Each kind has its path, the member that contains the
 * code, and two different definitions.
 */
const KINDS = [
  {
    kind: 'schools',
    noun: 'school',
    member: 'school_code',
    first: { name: 'North High' },
    other: { name: 'South High' },
  },
  {
    kind: 'accommodations',
    noun: 'accommodation',
    member: 'accommodation_code',
    first: { name: 'Extra time', requires_approval: true },
    other: { name: 'More time', requires_approval: false },
  },
  {
    kind: 'attribute-keys',
    noun: 'attribute-key',
    member: 'attribute_key',
    first: { name: 'Badge number' },
    other: { name: 'Badge' },
  },
];

describe.each(KINDS)('$kind', ({ kind, noun, member, first, other }) => {
  let account: string;
  const entry = (code: string) => `/${account}/${kind}/${encodeURIComponent(code)}`;

  beforeAll(async () => {
    account = await app.given.account();
  });

  it('creates and replaces catalogue entries by PUT, and writes an audit row for each', async () => {
    const made = await admin('PUT', entry('A-1'), first);
    expect([made.status, made.body]).toEqual([200, { account_code: account, [member]: 'A-1', ...first }]);
    expect(await lastAudit()).toMatchObject({ action: `${noun}.put`, subject: `${account}/A-1` });
    const replaced = await admin('PUT', entry('A-1'), other);
    expect([replaced.status, replaced.body]).toEqual([200, { account_code: account, [member]: 'A-1', ...other }]);
    expect((await admin('GET', entry('A-1'))).body).toEqual(replaced.body);
  });

  it('accepts a PUT of a catalogue entry with the body that GET returned', async () => {
    await admin('PUT', entry('A-2'), first);
    const { body } = await admin('GET', entry('A-2'));
    expect((await admin('PUT', entry('A-2'), body)).body).toEqual(body);
  });

  it.each(['extra.time', 'EXTRA_TIME', '1', 'Ünïcode №1', 'with blank', 'a'.repeat(50), 'a,b', 'x~y', 'p%q'])(
    'accepts the code %s for a catalogue entry',
    async (code) => {
      expect((await admin('PUT', entry(code), first)).body[member]).toBe(code);
      expect((await admin('GET', entry(code))).body[member]).toBe(code);
      expect((await admin('DELETE', entry(code))).status).toBe(204);
    },
  );

  it.each(['a/b', 'a\\b', ' a', 'a ', 'a\tb', 'a\u0000b', 'a'.repeat(51)])(
    'refuses the code %j for a catalogue entry',
    async (code) => {
      const answer = await admin('PUT', entry(code), first);
      expect([answer.status, answer.body.errors[0].parameter]).toEqual([400, 'code']);
    },
  );

  it('lists catalogue entries newest first, and keeps the position of a replaced entry', async () => {
    account = await app.given.account();
    for (const code of ['one', 'two', 'three', 'one']) await admin('PUT', entry(code), first);
    const page = await admin('GET', `/${account}/${kind}?limit=2`);
    expect(page.body.map((row: Record<string, unknown>) => row[member])).toEqual(['three', 'two']);
    expect(Object.keys(page.body[0]).sort()).toEqual(['account_code', member, ...Object.keys(first)].sort());
    const next = nextPath(page)!;
    const rest = await app.call('GET', next, { token: operator });
    expect(rest.body.map((row: Record<string, unknown>) => row[member])).toEqual(['one']);
    expect(rest.headers.get('link')).toBeNull();
  });

  it('keeps the catalogue entries of different accounts separate', async () => {
    const elsewhere = await app.given.account();
    await admin('PUT', entry('MINE'), first);
    expect((await admin('GET', `/${elsewhere}/${kind}/MINE`)).status).toBe(404);
    expect((await admin('DELETE', `/${elsewhere}/${kind}/MINE`)).status).toBe(404);
    expect((await admin('GET', `/${elsewhere}/${kind}`)).body).toEqual([]);
  });

  it('deletes a catalogue entry, after which GET answers 404', async () => {
    await admin('PUT', entry('GONE'), first);
    expect((await admin('DELETE', entry('GONE'))).status).toBe(204);
    expect(await lastAudit()).toMatchObject({ action: `${noun}.delete`, subject: `${account}/GONE` });
    for (const method of ['GET', 'DELETE']) {
      const answer = await admin(method, entry('GONE'));
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
  });

  it('refuses catalogue entries for an unknown account', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await admin(method, `/ABCDEFGH2345/${kind}/X`, method === 'PUT' ? first : undefined);
      expect([answer.status, answer.body.code]).toEqual([400, 'account_not_found']);
    }
  });

  it.each([
    ['an unknown member', { nmae: 'x' }, '/nmae', 'unknown_field'],
    ['a name that is no text', { name: 7 }, '/name', 'type_invalid'],
    ['a name that is null', { name: null }, '/name', 'required'],
    ['a control character', { name: 'a\u0007' }, '/name', 'control_character'],
  ])('refuses a catalogue entry with %s', async (_title, change, pointer, code) => {
    const answer = await admin('PUT', entry('BAD'), { ...first, ...change });
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toContainEqual(expect.objectContaining({ pointer, code }));
    expect((await admin('GET', entry('BAD'))).status).toBe(404);
  });

  it('accepts simultaneous PUT and DELETE requests for a catalogue entry', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        index % 4 === 3 ? admin('DELETE', entry('RACE')) : admin('PUT', entry('RACE'), index % 2 ? first : other),
      ),
    );
    for (const [index, { status }] of answers.entries()) expect(index % 4 === 3 ? [204, 404] : [200]).toContain(status);
  });

  it('writes no audit row for a refused catalogue entry', async () => {
    await admin('PUT', entry('AUDITED'), first);
    const before = await lastAudit();
    await admin('PUT', entry('AUDITED'), { name: '' });
    await admin('DELETE', entry('NEVER-MADE'));
    expect(await lastAudit()).toEqual(before);
  });
});

describe('an accommodation', () => {
  it('refuses an accommodation that does not say whether it requires approval', async () => {
    const account = await app.given.account();
    const answer = await admin('PUT', `/${account}/accommodations/A`, { name: 'A' });
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer: '/requires_approval', code: 'required' })]);
  });
});

describe('a catalogue entry that eligibilities use', () => {
  const mention = (kind: string, code: string) =>
    ({
      schools: { school_code: code },
      accommodations: { special_accommodations: [code] },
      'attribute-keys': { additional_attributes: [{ key: code, value: 'v' }] },
    })[kind];

  it.each(KINDS)('refuses to delete a catalogue entry ($kind) that an eligibility uses', async ({ kind, first }) => {
    const scene = await app.given.scene();
    await admin('PUT', `/${scene.account}/${kind}/USED`, first);
    await app.given.eligibility(scene, { candidate: mention(kind, 'USED') });
    const answer = await admin('DELETE', `/${scene.account}/${kind}/USED`);
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden_operation']);
    expect((await admin('GET', `/${scene.account}/${kind}/USED`)).status).toBe(200);
    expect((await admin('PUT', `/${scene.account}/${kind}/USED`, first)).status).toBe(200);
  });

  it.each(KINDS.filter(({ kind }) => kind !== 'schools'))(
    'deletes a catalogue entry ($kind) after the eligibility that uses the entry has been cancelled',
    async ({ kind, first }) => {
      const scene = await app.given.scene();
      await admin('PUT', `/${scene.account}/${kind}/USED`, first);
      const record = await app.given.eligibility(scene, { candidate: mention(kind, 'USED') });
      const cancelled = await app.call(
        'DELETE',
        `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}`,
        { token: scene.token },
      );
      expect(cancelled.status).toBe(204);
      expect((await admin('DELETE', `/${scene.account}/${kind}/USED`)).status).toBe(204);
    },
  );
});
