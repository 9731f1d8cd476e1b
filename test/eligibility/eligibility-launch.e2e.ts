import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { LaunchSweep } from '../../src/launch/launch-sweep';
import { startApp, type TestApp } from '../support/app';
import { dateTime } from '../support/given';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

type Record_ = Record<string, any>;

const info = (id: string, token = scene.token) => app.call('GET', `/eligibilities/${id}/testLaunchInfo`, { token });
const idOf = (record: Record_) => record['svc_eligiblity_id'] as string;
const launchPath = async (record: Record_) => {
  const answer = await info(idOf(record));
  return new URL(answer.body.launch_url as string).pathname;
};
const sql = (assignment: string, record: Record_) =>
  app.given.sql(`UPDATE eligibilities SET ${assignment} WHERE svc_eligiblity_id = $1`, [idOf(record)]);

describe('§5 Launch', () => {
  it('testLaunchInfo returns a launch_url with a code of 43 characters, valid for 300 s and for one use', async () => {
    const record = await app.given.eligibility(scene);
    const before = Date.now();
    const { status, body } = await info(idOf(record));
    expect([status, body]).toEqual([
      200,
      {
        svc_eligiblity_id: idOf(record),
        candidate_id: record['candidate'].candidate_id,
        test_code: scene.testCode,
        launch_url: expect.stringMatching(new RegExp(`^${app.url}/launch/[A-Za-z0-9_-]{43}$`)),
        expires_at: expect.stringMatching(/Z$/),
        single_use: true,
      },
    ]);
    const life = Date.parse(body.expires_at as string) - before;
    expect(life > 298_000 && life <= 301_000).toBe(true);
  });

  it('redeeming a launch link needs no token and redirects to the test’s launch_url with an ES256 statement valid for 60 s', async () => {
    const record = await app.given.eligibility(scene);
    const booking = await app.given.booking(scene, record);
    const answer = await app.call('GET', await launchPath(record));
    expect([answer.status, answer.text]).toEqual([303, '']);
    const target = new URL(answer.headers.get('location')!);
    expect([target.origin, target.pathname, target.searchParams.get('lang')]).toEqual([
      'https://driver.example',
      '/start',
      'en',
    ]);
    const token = target.searchParams.get('launch_token')!;
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`));
    const { payload } = await jwtVerify(token, keys, {
      issuer: app.url,
      audience: 'https://driver.example',
      algorithms: ['ES256'],
    });
    expect(payload).toMatchObject({
      sub: record['candidate'].candidate_id,
      exam_code: idOf(record),
      booking_code: booking['booking_code'],
      jti: expect.any(String),
    });
    expect(payload.exp! - payload.iat!).toBe(60);
    expect(decodeProtectedHeader(token).alg).toBe('ES256');
  });

  it('the key set for launch statements contains only public keys', async () => {
    const { status, body } = await app.call('GET', '/.well-known/jwks.json');
    expect(status).toBe(200);
    for (const key of body.keys) {
      expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: expect.any(String) });
      expect(key).not.toHaveProperty('d');
    }
  });

  it('a launch link works once: a used link answers 410, and only one of 20 simultaneous redemptions answers 303', async () => {
    const path = await launchPath(await app.given.eligibility(scene));
    const answers = await Promise.all(Array.from({ length: 20 }, () => app.call('GET', path)));
    expect(answers.filter((answer) => answer.status === 303)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 410 && answer.body.code === 'launch_gone')).toHaveLength(19);
    expect((await app.call('GET', path)).status).toBe(410);
  });

  it('a HEAD request, as sent for a preview of the launch link, does not use up the link', async () => {
    const path = await launchPath(await app.given.eligibility(scene));
    expect((await app.call('HEAD', path)).status).toBe(405);
    expect((await app.call('GET', path)).status).toBe(303);
  });

  it('an earlier launch link stays valid when a later link is issued', async () => {
    const record = await app.given.eligibility(scene);
    const [first, second] = [await launchPath(record), await launchPath(record)];
    expect(first).not.toBe(second);
    expect((await app.call('GET', first)).status).toBe(303);
    expect((await app.call('GET', second)).status).toBe(303);
  });

  it('an expired launch link answers 410, and an unknown launch link 404', async () => {
    const path = await launchPath(await app.given.eligibility(scene));
    await app.given.sql(`UPDATE launches SET expires_at = now() - interval '1 second' WHERE used_at IS NULL`);
    expect((await app.call('GET', path)).status).toBe(410);
    for (const code of ['A'.repeat(43), 'A'.repeat(42), 'x', '%00', '%E2%80%8F', '..%2F..'])
      expect([code, (await app.call('GET', `/launch/${code}`)).status]).toEqual([code, 404]);
  });

  it('the sweep deletes unused launch links a month after they expire, and all used links of a record except the last one', async () => {
    const record = await app.given.eligibility(scene);
    const [unused, recent, used, last] = [
      await launchPath(record),
      await launchPath(record),
      await launchPath(record),
      await launchPath(record),
    ];
    const set = (path: string, assignment: string) =>
      app.given.sql(`UPDATE launches SET ${assignment} WHERE token_hash = sha256(convert_to($1, 'UTF8'))`, [
        path.split('/').at(-1),
      ]);
    await set(unused, `expires_at = now() - interval '31 days'`);
    await set(recent, `expires_at = now() - interval '29 days'`);
    expect((await app.call('GET', used)).status).toBe(303);
    await set(used, `used_at = now() - interval '31 days', expires_at = now() - interval '31 days'`);
    await app.app.get(LaunchSweep, { strict: false }).run();
    const statuses = () =>
      Promise.all([unused, recent, used].map(async (path) => (await app.call('GET', path)).status));
    expect(await statuses()).toEqual([404, 410, 410]);
    expect((await app.call('GET', last)).status).toBe(303);
    expect(await statuses()).toEqual([404, 410, 404]);
    expect((await app.call('GET', last)).status).toBe(410);
  });

  it('a launch link answers 410 when the record was cancelled or completed after the link was issued', async () => {
    for (const assignment of [`status = 'CANCELLED'`, `status = 'COMPLETED'`]) {
      const record = await app.given.eligibility(scene);
      const path = await launchPath(record);
      await sql(assignment, record);
      expect((await app.call('GET', path)).status).toBe(410);
      const used = await app.given.sql(
        `SELECT 1 FROM launches WHERE svc_eligiblity_id = $1 AND used_at IS NOT NULL
         UNION ALL SELECT 1 FROM audit_log WHERE subject = $1 AND action = 'launch.redeem'`,
        [idOf(record)],
      );
      expect(used).toEqual([]);
    }
  });

  it('redeeming a launch link during a hold is refused with 403 and does not use up the link, even for a booked record', async () => {
    const booked = await app.given.eligibility(scene);
    await app.given.booking(scene, booked);
    const operator = await app.given.operator();
    const decide = (record: Record_, decision: string) =>
      app.call('POST', `/admin/eligibilities/${idOf(record)}/${decision}`, {
        token: operator,
        body: decision === 'hold' ? { reason: 'Fee unpaid' } : undefined,
      });
    for (const record of [await app.given.eligibility(scene), booked]) {
      const path = await launchPath(record);
      expect((await decide(record, 'hold')).status).toBe(204);
      const [click, another] = [await app.call('GET', path), await info(idOf(record))];
      expect([click.status, click.body.code]).toEqual([403, 'launch_not_available']);
      expect([another.status, another.body.code]).toEqual([403, 'launch_not_available']);
      expect((await decide(record, 'release')).status).toBe(204);
      expect((await app.call('GET', path)).status).toBe(303);
    }
  });

  it.each([
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'prefetch'],
    ['x-moz', 'prefetch'],
  ])(
    'a request to a launch link with the header %s: %s is answered with 204 and does not use up the link',
    async (name, value) => {
      const path = await launchPath(await app.given.eligibility(scene));
      const answer = await app.call('GET', path, { headers: { [name]: value } });
      expect([answer.status, answer.headers.get('location')]).toEqual([204, null]);
      expect((await app.call('GET', path)).status).toBe(303);
    },
  );

  it('a refused launch link shows a browser a page with the next step, and returns a problem document to a program', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const path = await launchPath(await app.given.eligibility(scene));
    expect((await app.call('GET', path, { headers: { accept } })).status).toBe(303);
    for (const [address, status, advice] of [
      [path, 410, 'ask for a new one'],
      [`/launch/${'A'.repeat(43)}`, 404, 'the whole link'],
    ] as const) {
      const page = await app.call('GET', address, { headers: { accept } });
      expect([page.status, page.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
      expect(page.text).toContain(advice);
      expect((await app.call('GET', address)).headers.get('content-type')).toContain('application/problem+json');
    }
  });

  it('a launch link for a booked exam is issued at most launch_minutes_before minutes before the exam', async () => {
    const early = await app.given.scene();
    await app.given.sql('UPDATE tests SET launch_minutes_before = 30 WHERE account_code = $1', [early.account]);
    const record = await app.given.eligibility(early);
    expect((await info(idOf(record), early.token)).status).toBe(200);
    const start = Math.floor(Date.now() / 1000) * 1000 + 3_600_000;
    await app.given.booking(early, record, { booking_on: dateTime(start) });
    expect((await info(idOf(record), early.token)).body).toMatchObject({
      status: 403,
      code: 'launch_not_available',
      available_from: dateTime(start - 1_800_000),
    });
    await sql(`booking_on = now() + interval '29 minutes'`, record);
    const { launch_url } = (await info(idOf(record), early.token)).body;
    const path = new URL(launch_url as string).pathname;
    await sql(`booking_on = now() + interval '32 minutes'`, record);
    expect((await app.call('GET', path)).body).toMatchObject({ status: 403, available_from: expect.any(String) });
    const page = await app.call('GET', path, { headers: { accept: 'text/html' } });
    expect(page.text).toMatch(/too early[^]*can be started from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    await sql(`booking_on = now() + interval '29 minutes'`, record);
    expect((await app.call('GET', path)).status).toBe(303);
  });

  it.each(['abc', 'ABCDEFGHJ', 'ABCD-FGH', 'ABCDEFG%C3%89', 'ABCDEFG%EF%BC%91', '%00', 'ABCD%2FFGH'])(
    'testLaunchInfo answers 400 to an svc_eligiblity_id that is not 8 alphanumeric characters: %s',
    async (id) => {
      const answer = await info(id);
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
      expect(answer.body.errors).toEqual([expect.objectContaining({ parameter: 'svc_eligibility_code' })]);
    },
  );

  it('testLaunchInfo answers an id of another account with the same 404 as an unknown id', async () => {
    const other = await app.given.scene();
    const foreign = await info(idOf(await app.given.eligibility(other)));
    const unknown = await info('ZZZZZZZZ');
    const plain = ({ body }: { body: any }) => ({ ...body, request_id: '', instance: '' }) as object;
    expect([foreign.status, foreign.body.code]).toEqual([404, 'eligibility_not_found']);
    expect(plain(foreign)).toEqual(plain(unknown));
    expect((await info(idOf(await app.given.eligibility(scene)), await app.given.operator())).status).toBe(200);
  });

  it('a request to launch an exam outside its window, or for a test without a launch_url, is refused with 403 launch_not_available', async () => {
    const early = await app.given.eligibility(scene, { schedule_start_date: dateTime(Date.now() + 60_000) });
    const bare = await app.given.scene({ launch_url: null });
    const late = await app.given.eligibility(scene);
    await app.given.booking(scene, late);
    await sql('eligibility_end_date = now()', late);
    for (const [id, token] of [
      [idOf(early), scene.token],
      [idOf(late), scene.token],
      [idOf(await app.given.eligibility(bare)), bare.token],
    ] as const) {
      const answer = await info(id, token);
      expect([answer.status, answer.body.code]).toEqual([403, 'launch_not_available']);
    }
  });

  it('the service stores only a hash of a launch link', async () => {
    const code = (await launchPath(await app.given.eligibility(scene))).split('/').at(-1)!;
    const rows = await app.given.sql(`SELECT encode(token_hash, 'escape') AS hash FROM launches`);
    expect(rows.some((row) => String(row['hash']).includes(code))).toBe(false);
  });
});
