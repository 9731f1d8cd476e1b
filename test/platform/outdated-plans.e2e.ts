import { startApp, type TestApp } from '../support/app';
import type { Scene } from '../support/deliveries';

let app: TestApp;
let scene: Scene;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const TABLES = ['eligibilities', 'bookings', 'notifications', 'deliveries', 'tests', 'users', 'eligibility_imports'];

/** Creates, reads, books, moves and cancels records, 12 at a time, so that most connections prepare the statements. */
async function callEverything(): Promise<number[]> {
  const statuses: number[] = [];
  const call = async (method: string, path: string, body?: object) => {
    const answer = await app.call(method, path, { token: scene.token, body });
    statuses.push(answer.status);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  const of = `/accounts/${scene.account}`;
  const at = (day: number) => ({
    booking_on: `2098-06-${day}T14:00:00Z`,
    delivery_mode: 'SVC_REMOTE_PROCTORED',
    location_timezone: 'America/New_York',
  });
  const oneCandidate = async () => {
    const body = app.given.eligibilityBody(scene.testCode, { eligibility_end_date: '2099-12-31T00:00:00Z' });
    const { candidate } = await call('POST', `${of}/candidates`, body);
    const test = `${of}/candidates/${candidate.candidate_id}/tests/${scene.testCode}`;
    await call('GET', test);
    const { booking_code } = await call('POST', `${test}/bookings`, at(15));
    await call('GET', `${of}/bookings/${booking_code}`);
    await call('PUT', `${of}/bookings/${booking_code}`, at(16));
    await call('DELETE', `${of}/bookings/${booking_code}`);
    await call('GET', `${of}/eligibilities?limit=5`);
  };
  await Promise.all(Array.from({ length: 12 }, oneCandidate));
  return [...new Set(statuses)].sort();
}

it('a process answers without errors while the migrations of the next release add columns to its tables', async () => {
  expect(await callEverything()).toEqual([200, 201, 204]);
  for (const round of [1, 2]) {
    const [statuses] = await Promise.all([
      callEverything(),
      (async () => {
        for (const table of TABLES)
          await app.given.sql(`ALTER TABLE ${table} ADD COLUMN planted_${round} int NOT NULL DEFAULT 0`);
      })(),
    ]);
    expect(statuses).toEqual([200, 201, 204]);
    expect(await callEverything()).toEqual([200, 201, 204]);
  }
});
