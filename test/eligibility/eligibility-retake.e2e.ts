import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, type Scene } from '../support/deliveries';
import { eventually } from '../support/eventually';

const DAY_MS = 86_400_000;

let app: TestApp;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
afterAll(() => app.close());

const portions = [{ portion_code: 'MAIN' }];
const policy = (scene: Scene, retake: object | null) =>
  app.call('PUT', `/admin/accounts/${scene.account}/tests/${scene.testCode}`, {
    token: operator,
    body: { name: 'A test', portions, retake },
  });

async function sceneWith(retake: object): Promise<Scene> {
  const scene = await app.given.scene();
  expect((await policy(scene, retake)).status).toBe(200);
  return scene;
}

const create = (scene: Scene, candidate: string, changes: object = {}) =>
  app.call('POST', `/accounts/${scene.account}/candidates`, {
    token: scene.token,
    body: app.given.eligibilityBody(scene.testCode, { candidate: { candidate_id: candidate }, ...changes }),
  });

/** Creates a record of the candidate, completes it, and moves the attempt the given number of days into the past. */
async function attempt(scene: Scene, candidate: string, daysAgo = 0): Promise<string> {
  const made = await create(scene, candidate);
  expect(made.status).toBe(200);
  expect((await new Deliveries(app).put(scene, accountBody(candidate, {}))).status).toBe(200);
  const id = made.body.svc_eligiblity_id as string;
  await app.given.sql(
    `UPDATE eligibilities SET last_event_at = last_event_at - make_interval(days => $2) WHERE svc_eligiblity_id = $1`,
    [id, daysAgo],
  );
  return id;
}

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().replace(/\.\d+Z/, 'Z');
/** Returns the number of days from now until the time, rounded. */
const daysUntil = (text: string) => Math.round((Date.parse(text) - Date.now()) / DAY_MS);

describe('the retake policy of a test', () => {
  it("another attempt is refused before the test's wait_days have passed, with the date from which it is allowed", async () => {
    const scene = await sceneWith({ wait_days: 30 });
    await attempt(scene, 'early', 10);
    const refused = await create(scene, 'early');
    expect([refused.status, refused.body.code]).toEqual([403, 'retake_not_allowed']);
    expect(daysUntil(refused.body.allowed_from)).toBe(20);
    await attempt(scene, 'late', 31);
    expect((await create(scene, 'late')).status).toBe(200);
    expect((await create(scene, 'another')).status).toBe(200);
  });

  it('a record can be created if its window begins when the retake policy allows another attempt', async () => {
    const scene = await sceneWith({ wait_days: 30 });
    await attempt(scene, 'planned');
    const body = { schedule_start_date: inDays(31), eligibility_end_date: inDays(60) };
    expect((await create(scene, 'planned', body)).status).toBe(200);
  });

  it("a second open record is refused as duplicate_eligibility with the first one's id, even if the retake policy forbids it too", async () => {
    const scene = await sceneWith({ wait_days: 30 });
    await attempt(scene, 'live');
    const planned = { schedule_start_date: inDays(31), client_eligibility_id: 'live-1' };
    const { svc_eligiblity_id } = (await create(scene, 'live', planned)).body;
    const again = await create(scene, 'live', { client_eligibility_id: 'live-1' });
    expect([again.status, again.body.code]).toEqual([400, 'duplicate_eligibility']);
    expect(again.body.svc_eligiblity_id).toBe(svc_eligiblity_id);
  });

  it('only COMPLETED and ABSENT records in the period of the retake policy count as attempts', async () => {
    const scene = await sceneWith({ max_attempts: 2, period_days: 100 });
    await attempt(scene, 'often', 90);
    const missed = await app.given.eligibility(scene, { candidate: { candidate_id: 'often' } });
    const booking = await app.given.booking(scene, missed);
    const absence = (excused: boolean) =>
      app.call('POST', `/accounts/${scene.account}/bookings/${booking['booking_code']}/absence`, {
        token: scene.token,
        body: { excused },
      });
    expect((await absence(false)).status).toBe(204);
    const refused = await create(scene, 'often');
    expect([refused.status, refused.body.code, daysUntil(refused.body.allowed_from)]).toEqual([
      403,
      'retake_not_allowed',
      10,
    ]);
    // An excused absence does not count as an attempt, because the record is open again.
    expect((await absence(true)).status).toBe(204);
    expect((await create(scene, 'often')).body.code).toBe('duplicate_eligibility');
  });

  it('another attempt is refused without a date when the candidate has used all attempts that the test allows in total', async () => {
    const scene = await sceneWith({ max_attempts: 1 });
    await attempt(scene, 'once', 5000);
    const refused = await create(scene, 'once');
    expect([refused.status, refused.body.code, refused.body.allowed_from]).toEqual([403, 'retake_not_allowed', null]);
  });

  it('a retake policy applies from the moment it is set until it is cleared, including to bookings of existing records', async () => {
    const scene = await app.given.scene();
    await policy(scene, null);
    await attempt(scene, 'booked');
    const record = (await create(scene, 'booked', { eligibility_end_date: inDays(400) })).body;
    await policy(scene, { wait_days: 30 });
    const path = `/accounts/${scene.account}/candidates/booked/tests/${scene.testCode}/bookings`;
    const at = (days: number) => ({
      booking_on: inDays(days),
      delivery_mode: 'SVC_REMOTE_PROCTORED',
      location_timezone: 'America/New_York',
    });
    const book = (days: number) => app.call('POST', path, { token: scene.token, body: at(days) });
    const early = await book(10);
    expect([early.status, early.body.code, daysUntil(early.body.allowed_from)]).toEqual([
      403,
      'retake_not_allowed',
      30,
    ]);
    const booked = await book(31);
    expect([booked.status, booked.body.svc_eligiblity_id]).toEqual([201, record.svc_eligiblity_id]);
    const one = `/accounts/${scene.account}/bookings/${booked.body.booking_code}`;
    const moved = await app.call('PUT', one, { token: scene.token, body: at(20) });
    expect([moved.status, moved.body.code]).toEqual([403, 'retake_not_allowed']);
    await policy(scene, null);
    expect((await app.call('PUT', one, { token: scene.token, body: at(20) })).status).toBe(200);
  });

  it('a POST that arrives together with the result of the last allowed attempt creates at most one record', async () => {
    const scene = await sceneWith({ wait_days: 30 });
    for (let round = 0; round < 10; round++) {
      const candidate = `race-${round}`;
      const made = await create(scene, candidate);
      await app.given.sql(
        `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 minute', schedule_start_date = NULL
         WHERE svc_eligiblity_id = $1`,
        [made.body.svc_eligiblity_id],
      );
      const [created] = await Promise.all([
        create(scene, candidate),
        new Deliveries(app).put(scene, accountBody(candidate, { result_id: candidate })),
      ]);
      const rows = await app.given.sql(
        `SELECT status, created_datetime, last_event_at FROM eligibilities
         WHERE account_code = $1 AND candidate_id = $2 ORDER BY position`,
        [scene.account, candidate],
      );
      if (created.status === 200) expect(rows.length).toBe(2);
      else {
        expect([created.status, created.body.code, rows.length]).toEqual([403, 'retake_not_allowed', 1]);
      }
    }
  });

  it('eight simultaneous POST requests for a candidate and a test with a retake policy create only one record', async () => {
    const scene = await sceneWith({ wait_days: 1, max_attempts: 5 });
    await attempt(scene, 'twice', 2);
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(scene, 'twice')));
    const codes = answers.map(({ status, body }) => body.code ?? status).sort();
    expect(codes).toEqual([200, ...Array.from({ length: 7 }, () => 'duplicate_eligibility')]);
  });

  it('an import refuses the lines that the retake policy does not allow, and imports the other lines', async () => {
    const scene = await sceneWith({ wait_days: 30 });
    for (const refused of ['row-7', 'row-4999', 'row-9999']) await attempt(scene, refused);
    const rows = Array.from({ length: 10_000 }, (_, n) =>
      JSON.stringify(app.given.eligibilityBody(scene.testCode, { candidate: { candidate_id: `row-${n}` } })),
    );
    const path = `/accounts/${scene.account}/eligibility-imports`;
    const begun = await app.call('POST', path, {
      token: scene.token,
      body: rows.join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
    const done = await eventually(async () => {
      const { body } = await app.call('GET', `${path}/${begun.body.import_id}`, { token: scene.token });
      expect(body.state).toBe('DONE');
      return body;
    }, 90_000);
    expect([done.created, done.refused]).toEqual([9_997, 3]);
    const report = await app.call('GET', `${path}/${begun.body.import_id}/report`, { token: scene.token });
    expect(report.text).toContain('retake_not_allowed');
  }, 120_000);

  it.each([
    ['a period without a number of attempts', { period_days: 30 }, '/retake/max_attempts', 'required'],
    ['a wait of no days', { wait_days: 0 }, '/retake/wait_days', 'out_of_range'],
    ['an unknown member', { wait: 3 }, '/retake/wait', 'unknown_field'],
    ['a policy that is no object', [3], '/retake', 'type_invalid'],
  ])('an invalid retake policy is refused: %s', async (_title, retake, pointer, code) => {
    const refused = await policy(await app.given.scene(), retake);
    expect([refused.status, refused.body.errors.map((fault: any) => [fault.pointer, fault.code])]).toEqual([
      400,
      [[pointer, code]],
    ]);
  });
});
