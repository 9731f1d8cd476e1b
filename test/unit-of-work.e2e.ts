import { Database, isDatabaseUnavailable, prepared } from '../src/platform/database/database';
import { UnitOfWork } from '../src/platform/unit-of-work/unit-of-work';
import { startApp, type TestApp } from './support/app';

/** A name is unique; a second insert of it waits for the transaction of the first. */
const INSERT = prepared('name-insert', 'INSERT INTO names VALUES ($1)');
const LOCK = prepared('name-lock', 'SELECT * FROM names WHERE name = $1 FOR UPDATE');
const RENAME = prepared('name-rename', 'UPDATE names SET seen = seen + 1 WHERE name = $1');

let app: TestApp;
let unitOfWork: UnitOfWork;
let database: Database;

beforeAll(async () => {
  app = await startApp();
  unitOfWork = app.app.get(UnitOfWork);
  database = app.database;
  await app.given.sql('CREATE TABLE names (name text CONSTRAINT names_pk PRIMARY KEY, seen int NOT NULL DEFAULT 0)');
});
afterAll(() => app.close());
beforeEach(() => app.given.sql('TRUNCATE names'));

const names = async () =>
  ((await app.given.sql('SELECT name FROM names ORDER BY name')) as { name: string }[]).map((row) => row.name);
const audited = async (subject: string) =>
  (await app.given.sql('SELECT * FROM audit_log WHERE subject = $1', [subject])).length;

describe('what a unit of work sends without waiting', () => {
  it('is committed, in its order, with its events and audit rows', async () => {
    await unitOfWork.run(async () => {
      unitOfWork.send(INSERT, ['a']);
      unitOfWork.send(RENAME, ['a']);
      unitOfWork.audit('test', 'sent-a');
      return Promise.resolve();
    });
    expect(await app.given.sql('SELECT * FROM names')).toEqual([{ name: 'a', seen: 1 }]);
    expect(await audited('sent-a')).toBe(1);
  });

  it('is seen by the questions after it', async () => {
    await unitOfWork.run(async () => {
      unitOfWork.send(INSERT, ['a']);
      expect(await database.query(LOCK, ['a'])).toEqual([{ name: 'a', seen: 0 }]);
    });
  });

  it('fails the whole unit when it is refused: nothing is committed, and the refusal is what is thrown', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('taken')`);
    let published = false;
    const work = unitOfWork.run(async () => {
      unitOfWork.send(INSERT, ['before']);
      unitOfWork.send(INSERT, ['taken']);
      unitOfWork.send(INSERT, ['after']);
      unitOfWork.audit('test', 'refused');
      unitOfWork.afterCommit(() => (published = true));
      return Promise.resolve();
    });
    await expect(work).rejects.toMatchObject({ code: '23505', constraint: 'names_pk' });
    expect(await names()).toEqual(['taken']);
    expect(await audited('refused')).toBe(0);
    expect(published).toBe(false);
  });

  it('is the cause that is thrown when a question after it is refused for its sake', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('taken')`);
    const work = unitOfWork.run(async () => {
      unitOfWork.send(INSERT, ['taken']);
      await database.query(LOCK, ['taken']);
    });
    await expect(work).rejects.toMatchObject({ code: '23505' });
  });

  it('leaves the connection usable after a refusal', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('taken')`);
    for (let round = 0; round < 30; round++) {
      const refused = unitOfWork.run(() => Promise.resolve(unitOfWork.send(INSERT, ['taken'])));
      await expect(refused).rejects.toMatchObject({ code: '23505' });
    }
    await unitOfWork.run(() => Promise.resolve(unitOfWork.send(INSERT, ['free'])));
    expect(await names()).toEqual(['free', 'taken']);
  });

  it('is done again, all of it, after a deadlock', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('one'), ('two')`);
    let runs = 0;
    let met: () => void = () => undefined;
    const bothHoldOne = new Promise<void>((resolve) => (met = resolve));
    let holding = 0;
    const both = (first: string, second: string) =>
      unitOfWork.run(async () => {
        runs += 1;
        await database.query(LOCK, [first]);
        if (++holding === 2) met();
        await bothHoldOne;
        unitOfWork.send(RENAME, [second]);
      });
    await Promise.all([both('one', 'two'), both('two', 'one')]);
    // Again at least once; which of the two PostgreSQL gives up, and whether a second time, is its own affair.
    expect(runs).toBeGreaterThanOrEqual(3);
    expect(await app.given.sql('SELECT name, seen FROM names ORDER BY name')).toEqual([
      { name: 'one', seen: 1 },
      { name: 'two', seen: 1 },
    ]);
  });
});

describe('units of work that wait for a lock', () => {
  it('leave connections for everything else, and one too many is told to come again', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('held')`);
    const holder = await database.pool.connect();
    await holder.query(`BEGIN; SELECT * FROM names WHERE name = 'held' FOR UPDATE`);
    const units = Array.from({ length: 12 }, () => unitOfWork.run(() => database.query(RENAME, ['held'])));
    const outcomes = Promise.allSettled(units);
    try {
      expect((await app.call('GET', '/health/ready')).body).toMatchObject({ status: 'ok' });
      expect(await names()).toEqual(['held']);
      const [, , , ...waiting] = units;
      for (const unit of waiting) expect(isDatabaseUnavailable(await unit.catch((error: unknown) => error))).toBe(true);
    } finally {
      await holder.query('COMMIT');
      holder.release();
    }
    expect((await outcomes).map(({ status }) => status)).toEqual([
      ...Array<string>(3).fill('fulfilled'),
      ...Array<string>(9).fill('rejected'),
    ]);
    expect(await app.given.sql('SELECT seen FROM names')).toEqual([{ seen: 3 }]);
  });
});
