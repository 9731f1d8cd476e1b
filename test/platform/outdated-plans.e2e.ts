import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { MIGRATION_LOCK_TIMEOUT } from '../../src/platform/database/build-index';
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

/** Begins a transaction that locks the given tables one after another, as a migration does. */
async function locking(...tables: string[]) {
  const client = new pg.Client({ connectionString: app.databaseUrl });
  await client.connect();
  await client.query('BEGIN');
  await client.query(`LOCK TABLE ${tables[0]}`);
  return {
    rest: async () => {
      for (const table of tables.slice(1)) await client.query(`LOCK TABLE ${table}`);
    },
    end: () => client.end(),
  };
}

it('a read that PostgreSQL aborts because of a deadlock with a migration is repeated', async () => {
  const migration = await locking('schools', 'tests');
  const body = app.given.eligibilityBody(scene.testCode, { eligibility_end_date: '2099-12-31T00:00:00Z' });
  const created = app.call('POST', `/accounts/${scene.account}/candidates`, { token: scene.token, body });
  // The request has locked `tests` to check its codes, and now waits for `schools`. The request begins to wait before
  // the migration does, so the connection of the request is the first to detect the deadlock.
  await pause(500);
  await migration.rest();
  await migration.end();
  expect((await created).status).toBe(200);
});

it('a migration gives up its locks before PostgreSQL aborts a read because of a deadlock', async () => {
  const reader = new pg.Client({ connectionString: app.databaseUrl });
  await reader.connect();
  await reader.query('BEGIN');
  await reader.query('SELECT FROM tests');
  const migration = new pg.Client({ connectionString: app.databaseUrl });
  await migration.connect();
  await migration.query(`SET lock_timeout = '${MIGRATION_LOCK_TIMEOUT}'`);
  await migration.query('BEGIN');
  for (const table of ['schools', 'accommodations', 'attribute_keys']) await migration.query(`LOCK TABLE ${table}`);
  const read = reader.query('SELECT count(*) FROM schools');
  const given = migration.query('LOCK TABLE tests').catch(async (error: { code: string }) => {
    await migration.query('ROLLBACK');
    return error.code;
  });
  expect(await given).toBe('55P03');
  expect((await read).rows).toHaveLength(1);
  await reader.end();
  await migration.end();
});
