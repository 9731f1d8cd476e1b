import { startApp, type Answer, type TestApp } from '../support/app';
import { dateTime, siteBooking } from '../support/given';

/**
 * Tests section 6 of the contract: the rules for booking an exam, for moving and cancelling a booking, and for
 * absences.
 */
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type Scene = { account: string; testCode: string; token: string };

let app: TestApp;
let scene: Scene;
let eligibility: Record<string, any>;
let candidate: string;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
  eligibility = await app.given.eligibility(scene);
  candidate = eligibility['candidate'].candidate_id as string;
});

const start = Math.floor(Date.now() / 1000) * 1000 + 10 * DAY_MS;
const at = (ms: number) => ({ ...siteBooking(), booking_on: dateTime(start + ms) });

function book(testCode: string, body: object, token = scene.token): Promise<Answer> {
  return app.call('POST', `/accounts/${scene.account}/candidates/${candidate}/tests/${testCode}/bookings`, {
    token,
    body,
  });
}
const call = (method: string, code: string, body?: object, token = scene.token) =>
  app.call(method, `/accounts/${scene.account}/bookings/${code}`, { token, body });
const absence = (code: string, excused: boolean) => call('POST', `${code}/absence`, { excused });

async function booked(testCode = scene.testCode, body: object = at(0)): Promise<string> {
  const answer = await book(testCode, body);
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.body.booking_code as string;
}

/** Creates another test of the account, with an eligibility for the same candidate. */
async function otherTest(values: Record<string, number> = {}): Promise<string> {
  const testCode = await app.given.test(scene.account);
  for (const [column, value] of Object.entries(values)) await setTest(testCode, column, value);
  await app.given.eligibility({ ...scene, testCode }, { candidate: { candidate_id: candidate } });
  return testCode;
}

const setTest = (testCode: string, column: string, value: number) =>
  app.given.sql(`UPDATE tests SET ${column} = $3 WHERE account_code = $1 AND test_code = $2`, [
    scene.account,
    testCode,
    value,
  ]);

async function events(): Promise<Record<string, any>[]> {
  const answer = await app.call('GET', `/accounts/${scene.account}/changes?kind=BOOKING`, { token: scene.token });
  return answer.body as Record<string, any>[];
}

async function statusOf(testCode = scene.testCode): Promise<string> {
  const path = `/accounts/${scene.account}/candidates/${candidate}/tests/${testCode}`;
  return (await app.call('GET', path, { token: scene.token })).body[0].status as string;
}

describe('a PUT of the unchanged appointment', () => {
  it('a PUT that does not change the appointment is answered with 200, changes nothing and raises no event', async () => {
    const code = await booked();
    await app.given.settled();
    const [before, told] = [await call('GET', code), await events()];
    for (let n = 0; n < 3; n++) {
      const answer = await call('PUT', code, at(0));
      expect([answer.status, answer.body]).toEqual([200, before.body]);
    }
    await app.given.settled();
    expect(await events()).toEqual(told);
  });

  it('a PUT that changes only the location name of a booking counts as moving the booking', async () => {
    const code = await booked();
    await call('PUT', code, { ...at(0), location_name: 'Shelbyville Test Center' });
    await app.given.settled();
    expect((await events()).map(({ change }) => change as string)).toEqual(['SCHEDULED', 'RESCHEDULED']);
  });
});

describe('two bookings of one candidate that overlap', () => {
  const overlap = (code: string) => ({ status: 403, code: 'booking_overlaps', booking_code: code });

  it('refuses a second booking of a candidate at the same start time, and names the first booking’s code', async () => {
    const testCode = await otherTest();
    const first = await booked();
    expect((await book(testCode, at(0))).body).toMatchObject(overlap(first));
    expect((await book(testCode, at(1000))).status).toBe(201);
  });

  it('refuses a booking that begins before another exam of the candidate ends, but not one that begins at that moment', async () => {
    await setTest(scene.testCode, 'duration_minutes', 90);
    const [during, after, before] = [await otherTest(), await otherTest(), await otherTest({ duration_minutes: 60 })];
    const first = await booked();
    expect((await book(during, at(90 * 60_000 - 1000))).body).toMatchObject(overlap(first));
    expect((await book(after, at(90 * 60_000))).status).toBe(201);
    expect((await book(before, at(-59 * 60_000))).body).toMatchObject(overlap(first));
    expect((await book(before, at(-60 * 60_000))).status).toBe(201);
  });

  it('an overlapping booking is accepted with allow_overlap, or after the first booking was cancelled', async () => {
    const [one, two] = [await otherTest(), await otherTest()];
    const first = await booked();
    expect((await book(one, { ...at(0), allow_overlap: true })).status).toBe(201);
    expect((await book(two, at(0))).status).toBe(403);
    const [{ booking_code }] = (await events()).slice(-1);
    for (const code of [first, booking_code]) await call('DELETE', code as string);
    expect((await book(two, at(0))).status).toBe(201);
  });

  it('refuses to move a booking to a time that overlaps another booking of the candidate', async () => {
    const first = await booked();
    const second = await booked(await otherTest(), at(HOUR_MS));
    expect((await call('PUT', second, at(0))).body).toMatchObject(overlap(first));
    expect((await call('PUT', second, { ...at(0), allow_overlap: true })).status).toBe(200);
  });

  it('only one of two overlapping bookings that arrive at the same moment is accepted', async () => {
    for (let round = 0; round < 10; round++) {
      candidate = app.given.unique('C-');
      const tests = [await otherTest(), await otherTest(), await otherTest()];
      const answers = await Promise.all(tests.map((test) => book(test, at(0))));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403]);
    }
  });

  it('bookings of one candidate in different accounts may overlap', async () => {
    await booked();
    const other = await app.given.scene();
    const there = await app.given.eligibility(other, { candidate: { candidate_id: candidate } });
    expect(await app.given.booking(other, there, at(0))).toMatchObject({ status: 'BOOKED' });
  });
});

describe('the cut-off for changes of a test', () => {
  it('after the cut-off, clients may not move or cancel a booking, but staff may', async () => {
    const code = await booked(scene.testCode, { ...siteBooking(), booking_on: dateTime(Date.now() + 20 * HOUR_MS) });
    await setTest(scene.testCode, 'change_cutoff_hours', 24);
    const later = { ...siteBooking(), booking_on: dateTime(Date.now() + 30 * HOUR_MS) };
    for (const answer of [await call('PUT', code, later), await call('DELETE', code)])
      expect(answer.body).toMatchObject({ status: 403, code: 'change_cutoff_passed' });
    expect(await statusOf()).toBe('SCHEDULED');
    const support = await app.given.token([scene.account], ['bookings', 'support']);
    expect((await call('PUT', code, later, support)).status).toBe(200);
    expect((await call('DELETE', code)).status).toBe(204);
    const second = await booked(scene.testCode, { ...siteBooking(), booking_on: dateTime(Date.now() + HOUR_MS) });
    expect((await call('DELETE', second)).status).toBe(403);
    expect((await call('DELETE', second, undefined, await app.given.operator())).status).toBe(204);
  });

  it('PUT of a test sets the cut-off for changes to bookings, and GET returns the cut-off', async () => {
    const operator = await app.given.operator();
    const path = `/admin/accounts/${scene.account}/tests/CUT-OFF`;
    const portions = [{ portion_code: 'MAIN', portion_name: null }];
    const body = { name: 'With a cut-off', change_cutoff_hours: 48, launch_minutes_before: 30, portions };
    expect((await app.call('PUT', path, { token: operator, body })).body).toMatchObject(body);
    expect((await app.call('GET', path, { token: operator })).body).toMatchObject(body);
    const wrong = await app.call('PUT', path, { token: operator, body: { ...body, change_cutoff_hours: -1 } });
    expect(wrong.body.errors).toMatchObject([{ pointer: '/change_cutoff_hours', code: 'out_of_range' }]);
  });
});

describe('an absence that is excused afterwards', () => {
  it('an excused absence raises EXCUSED_ABSENT once, and makes the record ELIGIBLE again', async () => {
    const code = await booked();
    expect((await absence(code, false)).status).toBe(204);
    expect(await statusOf()).toBe('ABSENT');
    expect((await absence(code, true)).status).toBe(204);
    expect([await statusOf(), (await call('GET', code)).body.status]).toEqual(['ELIGIBLE', 'EXCUSED_ABSENT']);
    expect((await absence(code, true)).body.code).toBe('booking_closed');
    expect((await absence(code, false)).body.code).toBe('booking_closed');
    await app.given.settled();
    expect((await events()).map(({ change }) => change as string)).toEqual(['SCHEDULED', 'ABSENT', 'EXCUSED_ABSENT']);
    expect((await book(scene.testCode, at(0))).status).toBe(201);
  });

  it('an excused absence makes the record EXPIRED if its eligibility window is over', async () => {
    const code = await booked();
    await absence(code, false);
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 day' WHERE account_code = $1`,
      [scene.account],
    );
    expect((await absence(code, true)).status).toBe(204);
    expect(await statusOf()).toBe('EXPIRED');
  });

  it('an absence cannot be excused after the candidate got a new eligibility or a result for the test', async () => {
    const code = await booked();
    await absence(code, false);
    await app.given.eligibility(scene, { candidate: { candidate_id: candidate } });
    expect((await absence(code, true)).body).toMatchObject({ status: 403, code: 'forbidden_operation' });
    const other = await app.given.eligibility(scene);
    candidate = other['candidate'].candidate_id as string;
    const missed = await booked();
    await absence(missed, false);
    const body = { candidate_id: candidate, result: 'P' };
    expect((await app.call('PUT', `/accounts/${scene.account}`, { token: scene.token, body })).status).toBe(200);
    expect((await absence(missed, true)).body.code).toBe('booking_closed');
  });

  it('when an absence is excused while a new record is created, one request succeeds and one is refused', async () => {
    for (let round = 0; round < 12; round++) {
      const record = await app.given.eligibility(scene);
      candidate = record['candidate'].candidate_id as string;
      const code = await booked();
      await absence(code, false);
      const [excused, created] = await Promise.all([
        absence(code, true),
        app.call('POST', `/accounts/${scene.account}/candidates`, {
          token: scene.token,
          body: {
            candidate: record['candidate'],
            test_code: scene.testCode,
            eligibility_end_date: '2036-01-01T00:00:00Z',
          },
        }),
      ]);
      expect([
        [204, 400],
        [403, 200],
      ]).toContainEqual([excused.status, created.status]);
    }
  });

  it('two simultaneous requests to excuse an absence raise only one event', async () => {
    const code = await booked();
    await absence(code, false);
    const answers = await Promise.all([absence(code, true), absence(code, true)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 403]);
  });
});

it('the effective_date of events strictly increases across all bookings of a record', async () => {
  for (let n = 0; n < 4; n++) expect((await call('DELETE', await booked())).status).toBe(204);
  await booked();
  await app.given.settled();
  const told = await events();
  expect(told.map(({ change }) => change as string)).toEqual([
    ...Array.from({ length: 4 }, () => ['SCHEDULED', 'BOOKING_CANCELLED']).flat(),
    'SCHEDULED',
  ]);
  const dates = told.map(({ notification }) => notification.effective_date as string);
  expect(dates).toEqual([...new Set(dates)].sort());
});
