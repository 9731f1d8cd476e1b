import { randomBytes } from 'node:crypto';
import { runAdminCommand } from '../../src/admin-cli';
import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody } from '../support/deliveries';

const PASSWORD = 'exam-password-4711';
const TOKEN = 'exam-token-4711';
const PHOTO = Buffer.from('a face').toString('base64');
const oldKey = randomBytes(32).toString('base64');

let app: TestApp;
let deliveries: Deliveries;
let operator: string;

beforeAll(async () => {
  app = await startApp({ env: { SECRETS_KEY: oldKey } });
  deliveries = new Deliveries(app);
  operator = await app.given.operator();
});
afterAll(() => app.close());

const bodyFor = (examCode: string) =>
  registrationBody({
    examApiData: { examName: 'Board', examPassword: PASSWORD, duration: 90 },
    examMetaData: { examCode, extExamToken: TOKEN },
    userPhotoBase64String: PHOTO,
    videoReviewLink: 'https://v.example/4711',
  });
/** Returns how often the text occurs in the rows of a table. */
const found = async (table: string, text: string) =>
  (await app.given.sql(`SELECT count(*)::int AS n FROM ${table} t WHERE t::text LIKE '%' || $1 || '%'`, [text]))[0][
    'n'
  ];
const audited = async (action: string, subject: string) =>
  (await app.call('GET', `/admin/audit?action=${action}&subject=${subject}`, { token: operator })).body as object[];

describe('examPassword and extExamToken', () => {
  it('stores examPassword and extExamToken separately from the body, and shows them only to callers with the results scope', async () => {
    const scene = await app.given.scene();
    const record = await app.given.eligibility(scene);
    const id = record['svc_eligiblity_id'] as string;
    const body = bodyFor(id);
    expect((await deliveries.register(scene.token, body)).status).toBe(200);
    expect((await deliveries.register(scene.token, body)).status).toBe(200);
    expect(await found('result_revisions', PASSWORD)).toBe(0);
    expect(await found('result_revisions', TOKEN)).toBe(0);
    const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}/results`;
    const whole = await app.call('GET', path, { token: scene.token });
    expect(whole.body).toHaveLength(1);
    expect(whole.body[0].body).toEqual(body);
    const reader = await app.given.token([scene.account], ['read']);
    const { userPhotoBase64String: _p, videoReviewLink: _v, ...rest } = body;
    expect((await app.call('GET', path, { token: reader })).body[0].body).toEqual({
      ...rest,
      examApiData: { examName: 'Board', duration: 90 },
      examMetaData: { examCode: id },
    });
    expect(await audited('result.read-photo', id)).toMatchObject([{ account_code: scene.account, changed: [] }]);
    expect(await audited('result.read-video-link', id)).toHaveLength(1);
  });

  it('stores examPassword and extExamToken of an unmatched result separately from its body, and audits each read of them', async () => {
    const scene = await app.given.scene();
    const body = bodyFor('NOWHERE');
    expect((await deliveries.register(scene.token, body)).status).toBe(400);
    expect(await found('unmatched_results', PASSWORD)).toBe(0);
    const [listed] = (await app.call('GET', '/admin/unmatched-results', { token: operator })).body;
    expect(JSON.stringify(listed)).not.toMatch(/4711/);
    const one = await app.call('GET', `/admin/unmatched-results/${listed.id}`, { token: operator });
    expect(one.body.body).toEqual(body);
    const { userPhotoBase64String: _p, videoReviewLink: _v, ...rest } = body;
    for (const scope of ['admin', 'support'] as const) {
      const token = await app.given.token([scene.account], [scope]);
      const without = await app.call('GET', `/admin/unmatched-results/${listed.id}`, { token });
      expect(without.body.body).toEqual({
        ...rest,
        examApiData: { examName: 'Board', duration: 90 },
        examMetaData: { examCode: 'NOWHERE' },
      });
    }
    // The audit log gets a row each time a caller reads the photo or the link.
    expect(await audited('unmatched-result.read-photo', listed.id as string)).toHaveLength(1);
    expect(await audited('unmatched-result.read-video-link', listed.id as string)).toHaveLength(1);
  });

  it('omits the credentials, photo and video link of a result for operators without the results scope, and writes no audit row', async () => {
    const scene = await app.given.scene();
    const record = await app.given.eligibility(scene);
    const id = record['svc_eligiblity_id'] as string;
    await deliveries.register(scene.token, bodyFor(id));
    const read = async (token: string) =>
      (await app.call('GET', `/admin/eligibilities/${id}/results/1?media=true`, { token })).body.body;
    for (const scope of ['admin', 'support'] as const)
      expect(await read(await app.given.token([scene.account], [scope]))).not.toHaveProperty('userPhotoBase64String');
    expect(await audited('result.read-photo', id)).toHaveLength(0);
    expect(await read(operator)).toMatchObject({ userPhotoBase64String: PHOTO });
    expect(await audited('result.read-photo', id)).toHaveLength(1);
  });

  it('stores credentials, photos and links separately wherever they occur in the body, in all kinds of results, matched or not', async () => {
    const scene = await app.given.scene();
    const inside = {
      list: [{ a: 1, examPassword: PASSWORD, b: [{ extExamToken: TOKEN }] }],
      examMetaData: { examCode: 'NOWHERE', examPassword: PASSWORD },
      examApiData: { deep: { extExamToken: { of: TOKEN }, userPhotoBase64String: PHOTO } },
      extExamToken: TOKEN,
      more: [[{ videoReviewLink: 'https://v.example/4711' }]],
    };
    const record = await app.given.eligibility(scene);
    const registered = { ...inside, examMetaData: { ...inside.examMetaData, examCode: record['svc_eligiblity_id'] } };
    expect((await deliveries.register(scene.token, registered)).status).toBe(200);
    expect((await deliveries.put(scene, { ...inside, candidate_id: record['candidate'].candidate_id })).status).toBe(
      200,
    );
    expect((await deliveries.register(scene.token, inside)).status).toBe(400);
    expect((await deliveries.put(scene, { ...inside, candidate_id: 'nobody' })).status).toBe(400);
    for (const table of ['result_revisions', 'unmatched_results'])
      for (const text of [PASSWORD, TOKEN, PHOTO, '/4711'])
        expect([table, await found(table, text)]).toEqual([table, 0]);
    const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}/results`;
    const reader = await app.given.token([scene.account], ['read']);
    const hidden = await app.call('GET', path, { token: reader });
    expect(hidden.body[1].body).toEqual({
      list: [{ a: 1, b: [{}] }],
      examMetaData: { examCode: record['svc_eligiblity_id'] },
      examApiData: { deep: {} },
      more: [[{}]],
    });
    const shown = await app.call('GET', path, { token: scene.token });
    expect(shown.body[1].body).toEqual(registered);
    expect(shown.body[0].body).toEqual({ ...inside, candidate_id: record['candidate'].candidate_id });
    expect(await audited('result.read-photo', record['svc_eligiblity_id'] as string)).not.toHaveLength(0);
    const list = (await app.call('GET', '/admin/unmatched-results', { token: operator })).body.slice(0, 2);
    expect(JSON.stringify(list)).not.toMatch(/4711/);
    const one = await app.call('GET', `/admin/unmatched-results/${list[1].id}`, { token: operator });
    expect(one.body.body).toEqual(inside);
  });
});

describe('unmatched results for support staff', () => {
  it('support staff see unmatched registration results that a user of their accounts sent, or that name an exam in their accounts', async () => {
    const mine = await app.given.scene();
    const foreign = await app.given.scene();
    const support = await app.given.token([mine.account], ['support']);
    const record = await app.given.eligibility(mine);
    await deliveries.register(mine.token, bodyFor('SENT-BY-MINE'));
    await deliveries.register(foreign.token, bodyFor('SENT-BY-OTHERS'));
    await deliveries.register(foreign.token, bodyFor(record['svc_eligiblity_id'] as string));
    const list = await app.call('GET', '/admin/unmatched-results', { token: support });
    const codes = list.body.map((row: any) => row.body.examMetaData.examCode as string);
    expect(codes).toEqual([record['svc_eligiblity_id'], 'SENT-BY-MINE']);
    const all = (await app.call('GET', '/admin/unmatched-results', { token: operator })).body as any[];
    const others = all.find((row) => row.body.examMetaData.examCode === 'SENT-BY-OTHERS');
    const refused = await app.call('GET', `/admin/unmatched-results/${others.id}`, { token: support });
    expect([refused.status, refused.body.code]).toEqual([404, 'unmatched_result_not_found']);
    const accept = (exam: string) =>
      app.call('POST', `/admin/unmatched-results/${list.body[1].id}/accept`, {
        token: support,
        body: { svc_eligiblity_id: exam },
      });
    const elsewhere = await app.given.eligibility(foreign);
    expect((await accept(elsewhere['svc_eligiblity_id'] as string)).body.code).toBe('eligibility_not_found');
    expect((await accept(record['svc_eligiblity_id'] as string)).status).toBe(204);
  });
});

describe('commands for encryption and signing keys', () => {
  const run = async (on: TestApp, ...argv: string[]) => {
    const said = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      const code = await runAdminCommand(argv, on.app);
      return { code, out: said.mock.calls.join('') };
    } finally {
      said.mockRestore();
    }
  };

  it('npm run admin -- reencrypt encrypts everything under the newest key, after which the old key can be removed', async () => {
    const scene = await app.given.scene();
    const record = await app.given.eligibility(scene);
    const body = bodyFor(record['svc_eligiblity_id'] as string);
    await deliveries.register(scene.token, body);
    const launch = await app.given.eligibility(scene);
    const info = `/eligibilities/${launch['svc_eligiblity_id']}/testLaunchInfo`;
    const redeem = async (by: TestApp) => {
      const { launch_url } = (await by.call('GET', info, { token: scene.token })).body;
      return (await by.call('GET', new URL(launch_url as string).pathname)).status;
    };
    expect(await redeem(app)).toBe(303);
    const newKey = randomBytes(32).toString('base64');
    const { databaseUrl } = app;
    const both = await startApp({ databaseUrl, env: { SECRETS_KEY: `${newKey},${oldKey}` } });
    const first = await run(both, 'reencrypt');
    expect([first.code, first.out]).toEqual([
      0,
      expect.stringContaining('All secrets are encrypted with the newest key.'),
    ]);
    expect(first.out).toMatch(/result_revisions: [1-9]\d* encrypted again/);
    expect((await run(both, 'reencrypt')).out).toContain('result_revisions: 0 encrypted again');
    await both.close();
    const alone = await startApp({ databaseUrl, env: { SECRETS_KEY: newKey } });
    const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}/results`;
    expect((await alone.call('GET', path, { token: scene.token })).body[0].body).toEqual(body);
    expect(await redeem(alone)).toBe(303);
    await alone.close();
  });

  it('after npm run admin -- rotate-launch-key, the key set contains the new key, and the previous key for one more day', async () => {
    const keys = async () =>
      ((await app.call('GET', '/.well-known/jwks.json')).body.keys as { kid: string }[]).map(({ kid }) => kid);
    const [before] = await keys();
    const { code, out } = await run(app, 'rotate-launch-key');
    const kid = /^kid: (\S+)\n$/.exec(out)?.[1];
    expect(code).toBe(0);
    expect(await keys()).toEqual([kid, before]);
    await app.given.sql(`UPDATE signing_keys SET created_at = created_at - interval '25 hours'`);
    expect(await keys()).toEqual([kid]);
  });
});
