import { ResultQuota } from '../../src/results/records/result-quota';
import { startApp, type Answer, type TestApp } from '../support/app';

const MIB = 1024 * 1024;

let app: TestApp;

/** The daily quota of an account is 1 MiB. Results that match no exam may use up a quarter of this quota. */
beforeAll(async () => {
  app = await startApp({ env: { RESULT_MIB_PER_DAY: '1' } });
});
afterAll(() => app.close());

type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;
const refusal = ({ status, body }: Answer) => [status, body?.code];
const deliver = ({ token }: Scene, examCode: unknown, note: string, bytes = 200 * 1024, through = app) =>
  through.call('POST', '/registrations/registration/results', {
    token,
    body: { examMetaData: { examCode }, note, filling: 'x'.repeat(bytes) },
  });
const rowsOf = (scene: Scene) =>
  app.given.sql(
    'SELECT id FROM unmatched_results WHERE username IN (SELECT username FROM user_accounts WHERE account_code = $1)',
    [scene.account],
  );

function expectQuota(answer: Answer): void {
  expect(refusal(answer)).toEqual([429, 'result_quota_exceeded']);
  const seconds = Number(answer.headers.get('retry-after'));
  const left = 86_400 - ((Date.now() / 1000) % 86_400);
  expect(Math.abs(((seconds - left + 43_200) % 86_400) - 43_200)).toBeLessThan(60);
}

it('stores unmatched results up to their share of the daily quota, and counts a repeated result once', async () => {
  const scene = await app.given.scene();
  expect(refusal(await deliver(scene, 'nowhere', 'first'))).toEqual([400, 'registration_not_found']);
  // A second delivery of the same body does not count towards the quota.
  expect(refusal(await deliver(scene, 'nowhere', 'first'))).toEqual([400, 'registration_not_found']);
  expectQuota(await deliver(scene, 'nowhere', 'second'));
  expect(await rowsOf(scene)).toHaveLength(1);
  expect(refusal(await deliver(scene, 'nowhere', 'small', 1024))).toEqual([400, 'registration_not_found']);
});

it('counts the results of each account separately, and matched results separately from unmatched results', async () => {
  const [scene, other] = [await app.given.scene(), await app.given.scene()];
  const record = await app.given.eligibility(scene);
  await deliver(scene, 'nowhere', 'first');
  expectQuota(await deliver(scene, 'nowhere', 'second'));
  expect(refusal(await deliver(other, 'nowhere', 'first'))).toEqual([400, 'registration_not_found']);
  expect((await deliver(scene, record['svc_eligiblity_id'], 'found')).status).toBe(200);
});

it('stores result revisions of an account up to its daily quota, however many arrive at once, and no part of further revisions', async () => {
  const scene = await app.given.scene();
  const record = await app.given.eligibility(scene);
  const id = record['svc_eligiblity_id'] as string;
  const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => deliver(scene, id, `revision ${at}`)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  expectQuota(answers.find(({ status }) => status === 429)!);
  const [{ revisions, bytes }] = await app.given.sql(
    `SELECT count(*)::int AS revisions, sum(octet_length(body))::int AS bytes FROM result_revisions
     WHERE svc_eligiblity_id = $1`,
    [id],
  );
  expect(revisions).toBe(5);
  expect(bytes).toBeLessThanOrEqual(MIB);
  const account = await app.call('PUT', `/accounts/${scene.account}`, {
    token: scene.token,
    body: { candidate_id: record['candidate'].candidate_id, filling: 'x'.repeat(200 * 1024) },
  });
  expectQuota(account);
});

it('resets the quota of results on the next day, and deletes the old counts', async () => {
  const scene = await app.given.scene();
  await deliver(scene, 'nowhere', 'first');
  expectQuota(await deliver(scene, 'nowhere', 'second'));
  await app.given.sql(`UPDATE result_bytes SET day = day - 2`);
  expect(refusal(await deliver(scene, 'nowhere', 'second'))).toEqual([400, 'registration_not_found']);
  const quota = app.app.get(ResultQuota, { strict: false });
  expect(await quota.sweep(2)).toBe(2);
  while ((await quota.sweep(100)) > 0);
  expect(await app.given.sql('SELECT day FROM result_bytes')).toHaveLength(1);
});

it('a quota of 0 disables the daily quota of results', async () => {
  const free = await startApp({ databaseUrl: app.databaseUrl, env: { RESULT_MIB_PER_DAY: '0' } });
  try {
    const scene = await app.given.scene();
    for (const note of ['a', 'b', 'c'])
      expect(refusal(await deliver(scene, 'nowhere', note, undefined, free))).toEqual([400, 'registration_not_found']);
    expect(await rowsOf(scene)).toHaveLength(3);
  } finally {
    await free.close();
  }
});
