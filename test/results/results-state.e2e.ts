import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody, type Scene } from '../support/deliveries';
import { eventually } from '../support/eventually';

let app: TestApp;
let scene: Scene;
let operator: string;
let support: string;
let reader: string;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  operator = await app.given.operator();
  support = await app.given.token([scene.account], ['support']);
  reader = await app.given.token([scene.account], ['read']);
});
afterAll(() => app.close());

const reason = 'The proctor reported a disturbance.';

/**
 * Creates an exam with a result. Returns the id of the record, the path of its results, and the id of the candidate.
 */
async function examWithResult(): Promise<{ id: string; path: string; candidate: string }> {
  const record = await app.given.eligibility(scene);
  const id = record['svc_eligiblity_id'] as string;
  const candidate = record['candidate'].candidate_id as string;
  const body = registrationBody({ examMetaData: { examCode: id }, videoReviewLink: 'https://video.example/1' });
  expect((await new Deliveries(app).register(scene.token, body)).status).toBe(200);
  return { id, candidate, path: `/accounts/${scene.account}/candidates/${candidate}/tests/${scene.testCode}/results` };
}

const decide = (id: string, decision: string, token = operator, body: object = { reason }) =>
  app.call('POST', `/admin/eligibilities/${id}/result/${decision}`, { token, body });
const read = async (path: string, token = reader) => (await app.call('GET', path, { token })).body;

describe('the state of a result', () => {
  it('a new result is in the state RELEASED, without a reason', async () => {
    const { path } = await examWithResult();
    expect(await read(path)).toMatchObject([{ state: 'RELEASED', state_reason: null, body: { examMetaData: {} } }]);
  });

  it.each([
    ['hold', 'HELD'],
    ['revoke', 'REVOKED'],
  ])(
    'hides the body of a result after the decision %s from callers without the results scope',
    async (decision, state) => {
      const { id, path } = await examWithResult();
      expect((await decide(id, decision)).status).toBe(204);
      const [hidden] = await read(path);
      expect(hidden).toMatchObject({ revision: 1, state, state_reason: reason });
      expect('body' in hidden).toBe(false);
      const [shown] = await read(path, scene.token);
      expect(shown).toMatchObject({
        state,
        state_reason: reason,
        body: { videoReviewLink: 'https://video.example/1' },
      });
    },
  );

  it('shows the body of a held result again after the result is released', async () => {
    const { id, path } = await examWithResult();
    for (const decision of ['hold', 'revoke', 'release'])
      expect((await decide(id, decision, support)).status).toBe(204);
    expect(await read(path)).toMatchObject([{ state: 'RELEASED', state_reason: reason, body: {} }]);
  });

  it('a hold on a result also applies to every later revision, and the record stays COMPLETED', async () => {
    const { id, path } = await examWithResult();
    await decide(id, 'hold');
    const body = registrationBody({ examMetaData: { examCode: id }, marker: 'later' });
    expect((await new Deliveries(app).register(scene.token, body)).status).toBe(200);
    const revisions = (await read(path)) as { revision: number; state: string; body?: object }[];
    expect(revisions.map(({ revision, state, body }) => [revision, state, body])).toEqual([
      [2, 'HELD', undefined],
      [1, 'HELD', undefined],
    ]);
    const [record] = await read(path.replace('/results', ''));
    expect(record.status).toBe('COMPLETED');
  });

  it('hides the body of a held result from operators without the results scope, on every route', async () => {
    const { id, candidate, path } = await examWithResult();
    const stray = await new Deliveries(app).register(
      scene.token,
      registrationBody({ examMetaData: { examCode: randomUUID() }, secretScore: 'stray' }),
    );
    const unmatched = stray.body.unmatched_result_id as string;
    expect(
      (
        await app.call('POST', `/admin/unmatched-results/${unmatched}/accept`, {
          token: operator,
          body: { svc_eligiblity_id: id },
        })
      ).status,
    ).toBe(204);
    await decide(id, 'hold');
    const ofCandidate = `/admin/accounts/${scene.account}/candidates/${candidate}`;
    const one = await app.call('GET', `/admin/eligibilities/${id}/results/1`, { token: support });
    expect([one.status, one.body.state, 'body' in one.body]).toEqual([200, 'HELD', false]);
    const settled = await app.call('GET', `/admin/unmatched-results/${unmatched}`, { token: support });
    expect([settled.status, settled.body.body]).toEqual([200, null]);
    const paths = [path, ofCandidate, `${ofCandidate}/results`, `${ofCandidate}/changes`, `${ofCandidate}/audit`];
    for (const each of [
      ...paths,
      `/accounts/${scene.account}/changes`,
      `/accounts/${scene.account}/eligibilities.csv`,
    ]) {
      const token = each.startsWith('/admin') ? support : reader;
      const answer = await app.call('GET', each, { token });
      expect([each, answer.status, answer.text.includes('secretScore')]).toEqual([each, 200, false]);
      expect(answer.text).not.toContain('video.example');
    }
    const admin = await app.given.token([], ['admin']);
    const exported = await app.call('GET', `${ofCandidate}/export`, { token: admin });
    expect([exported.status, exported.text.includes('video.example')]).toEqual([200, false]);
    expect([exported.body.unmatched_results.length, exported.text.includes('secretScore')]).toEqual([1, false]);
    const full = await app.call('GET', `${ofCandidate}/export`, {
      token: await app.given.token([], ['admin', 'results']),
    });
    expect(full.body.unmatched_results).toMatchObject([{ id: unmatched, body: { secretScore: 'stray' } }]);
  });

  it('adds a decision on a result to the change feed and the audit log, and a repeated decision changes nothing', async () => {
    const { id, candidate } = await examWithResult();
    for (const decision of ['hold', 'hold', 'release', 'revoke']) await decide(id, decision);
    const ofCandidate = `/admin/accounts/${scene.account}/candidates/${candidate}`;
    const changes = (await read(`${ofCandidate}/changes`, operator)) as { kind: string; change: string }[];
    const decisions = changes.filter(({ change }) => /^RESULT_(HELD|RELEASED|REVOKED)$/.test(change));
    expect(decisions.map(({ change }) => change).sort()).toEqual(['RESULT_HELD', 'RESULT_RELEASED', 'RESULT_REVOKED']);
    expect(decisions[0]).toMatchObject({ kind: 'RESULT', status: 'COMPLETED', revision: 1, svc_eligiblity_id: id });
    const audit = (await read(`${ofCandidate}/audit`, operator)) as { action: string }[];
    expect(audit.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['result.hold', 'result.release', 'result.revoke']),
    );
  });

  it('after simultaneous holds and releases of a result, its state agrees with the entries in the change feed', async () => {
    const { id, path } = await examWithResult();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => decide(id, n % 2 === 0 ? 'hold' : 'release')),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 204));
    const [{ state }] = await read(path);
    const [{ rows }] = await app.given.sql(
      `SELECT count(*)::int AS rows FROM changes WHERE svc_eligiblity_id = $1 AND change = 'RESULT_HELD'`,
      [id],
    );
    const [{ released }] = await app.given.sql(
      `SELECT count(*)::int AS released FROM changes WHERE svc_eligiblity_id = $1 AND change = 'RESULT_RELEASED'`,
      [id],
    );
    expect(rows - released).toBe(state === 'HELD' ? 1 : 0);
  });

  it('refuses a decision on a result without a reason, for an exam without a result, and for an exam of another account', async () => {
    const { id } = await examWithResult();
    const empty = await app.given.eligibility(scene);
    const others = await app.given.token([(await app.given.scene()).account], ['support']);
    const answers = [
      await decide(id, 'hold', operator, {}),
      await decide(id, 'hold', operator, { reason: '   ' }),
      await decide(empty['svc_eligiblity_id'] as string, 'hold'),
      await decide('ZZZZZZZZ', 'revoke'),
      await decide(id, 'release', others),
      await decide(id, 'hold', scene.token),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [400, 'validation_error'],
      [400, 'validation_error'],
      [404, 'result_not_found'],
      [404, 'eligibility_not_found'],
      [404, 'eligibility_not_found'],
      [403, 'insufficient_scope'],
    ]);
  });

  it('removes the name of an erased candidate from the reason of a decision on the result', async () => {
    const { id, candidate } = await examWithResult();
    await decide(id, 'hold', operator, { reason: 'Ada Lovelace complained.' });
    const erased = await app.call('POST', `/admin/accounts/${scene.account}/candidates/${candidate}/erase`, {
      token: operator,
      body: { reason: 'Asked for.' },
    });
    expect(erased.status).toBe(202);
    await eventually(async () => {
      const [row] = await app.given.sql('SELECT reason FROM result_states WHERE svc_eligiblity_id = $1', [id]);
      expect(row['reason']).not.toContain('Ada');
    });
  });
});
