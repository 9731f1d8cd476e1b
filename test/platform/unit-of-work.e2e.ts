import type { Socket } from 'node:net';
import { currentTransaction, Database, isDatabaseUnavailable, prepared } from '../../src/platform/database/database';
import { inTheNameOf } from '../../src/platform/context/request-context';
import { DomainError, validationError } from '../../src/platform/errors';
import type { RunningUnit } from '../../src/platform/unit-of-work/running-unit';
import { UnitOfWork } from '../../src/platform/unit-of-work/unit-of-work';
import { startApp, type TestApp } from '../support/app';
import { callerOf } from '../support/callers';

/** Inserts a unique name. A second insert of the same name waits until the transaction of the first insert ends. */
const INSERT = prepared('name-insert', 'INSERT INTO names VALUES ($1)');
const LOCK = prepared('name-lock', 'SELECT * FROM names WHERE name = $1 FOR UPDATE');
const KEEP = prepared(
  'name-keep',
  'INSERT INTO names SELECT name FROM json_to_recordset($1) AS kept (n bigint, name text)',
);
const ALL = prepared('name-all', 'SELECT name FROM names ORDER BY name');
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

describe('statements that a unit of work sends without waiting', () => {
  it('a unit of work commits the statements that it sent without waiting, in order and together with its audit rows', async () => {
    await unitOfWork.run(async () => {
      unitOfWork.send(INSERT, ['a']);
      unitOfWork.send(RENAME, ['a']);
      unitOfWork.audit('test', 'sent-a');
      return Promise.resolve();
    });
    expect(await app.given.sql('SELECT * FROM names')).toEqual([{ name: 'a', seen: 1 }]);
    expect(await audited('sent-a')).toBe(1);
  });

  it('a query in a unit of work sees the effects of statements that the unit sent without waiting', async () => {
    await unitOfWork.run(async () => {
      unitOfWork.send(INSERT, ['a']);
      expect(await database.query(LOCK, ['a'])).toEqual([{ name: 'a', seen: 0 }]);
    });
  });

  it('a unit of work commits nothing and throws the error when the database refuses a statement that it sent without waiting', async () => {
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

  it('a unit of work throws the error of an earlier statement when that statement makes a later query fail', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('taken')`);
    const work = unitOfWork.run(async () => {
      unitOfWork.send(INSERT, ['taken']);
      await database.query(LOCK, ['taken']);
    });
    await expect(work).rejects.toMatchObject({ code: '23505' });
  });

  it('a connection remains usable after the database refuses a statement of a unit of work', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('taken')`);
    for (let round = 0; round < 30; round++) {
      const refused = unitOfWork.run(() => Promise.resolve(unitOfWork.send(INSERT, ['taken'])));
      await expect(refused).rejects.toMatchObject({ code: '23505' });
    }
    await unitOfWork.run(() => Promise.resolve(unitOfWork.send(INSERT, ['free'])));
    expect(await names()).toEqual(['free', 'taken']);
  });

  it('repeats a unit of work with all its statements after a deadlock', async () => {
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
    // After the deadlock, at least one unit of work was retried. PostgreSQL chooses which transaction it aborts, and a
    // second deadlock may cause a second retry.
    expect(runs).toBeGreaterThanOrEqual(3);
    expect(await app.given.sql('SELECT name, seen FROM names ORDER BY name')).toEqual([
      { name: 'one', seen: 1 },
      { name: 'two', seen: 1 },
    ]);
  });
});

describe('rows that a unit of work buffers', () => {
  const seen = () => database.query<{ name: string }>(ALL);

  it('a unit of work commits its buffered rows, and its later queries already see them', async () => {
    await unitOfWork.run(async () => {
      for (const name of ['a', 'b']) unitOfWork.keep(KEEP, { name });
      expect(await seen()).toEqual([{ name: 'a' }, { name: 'b' }]);
      unitOfWork.keep(KEEP, { name: 'c' });
    });
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('when a part of a unit of work is rolled back, only the rows that this part buffered are discarded', async () => {
    await unitOfWork.run(async () => {
      unitOfWork.keep(KEEP, { name: 'before' });
      const failing = unitOfWork.part(() => {
        unitOfWork.keep(KEEP, { name: 'failed' });
        throw new Error('This part fails.');
      });
      await expect(failing).rejects.toThrow('This part fails.');
      await unitOfWork.part(() => Promise.resolve(unitOfWork.keep(KEEP, { name: 'part' })));
    });
    expect(await names()).toEqual(['before', 'part']);
  });
});

describe('units of work that share a transaction', () => {
  let round = 0;
  const subjectOf = (name: string) => `shared-${name}-${round}`;
  const keep = (name: string) => unitOfWork.keep(KEEP, { name });
  const shared = (name: string, work = (): unknown => keep(name)) =>
    inTheNameOf(callerOf(name), null, () =>
      unitOfWork.runWithOthers(name, async () => {
        await work();
        unitOfWork.audit('shared', subjectOf(name));
      }),
    );
  /** Returns the inserted names, grouped by the transaction that wrote them. */
  const transactions = async () =>
    (
      (await app.given.sql(
        'SELECT array_agg(name ORDER BY name) AS names FROM names GROUP BY xmin::text ORDER BY min(name)',
      )) as { names: string[] }[]
    ).map((row) => row.names);
  const actorOf = async (name: string) =>
    ((await app.given.sql('SELECT actor FROM audit_log WHERE subject = $1', [subjectOf(name)])) as object[]).map(
      (row) => (row as { actor: string }).actor,
    );
  beforeEach(() => (round += 1));

  it('each audit row of a shared transaction names the caller of its own unit of work', async () => {
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => shared(name)));
    // The first unit of work finds no running transaction, and begins a transaction alone. The other units wait
    // meanwhile, and then share a transaction.
    expect(await transactions()).toEqual([['a'], ['b', 'c', 'd']]);
    for (const name of ['a', 'b', 'c', 'd']) expect(await actorOf(name)).toEqual([name]);
  });

  it('commits the other units of a shared transaction when one unit is refused, and stores no rows of the refused unit', async () => {
    const called: string[] = [];
    const refuse = () => {
      keep('refused');
      unitOfWork.audit('shared', subjectOf('refused'));
      unitOfWork.afterCommit(() => called.push('refused'));
      throw validationError.error();
    };
    const kept = (name: string) =>
      shared(name, () => {
        keep(name);
        unitOfWork.afterCommit(() => called.push(name));
      });
    const [, refused, other] = await Promise.allSettled([kept('a'), shared('refused', refuse), kept('b')]);
    expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(DomainError) as unknown });
    expect(other.status).toBe('fulfilled');
    expect(await names()).toEqual(['a', 'b']);
    expect(await actorOf('refused')).toEqual([]);
    expect(called).toEqual(['a', 'b']);
  });

  it('repeats each unit of a shared transaction alone when the database refuses the rows of one unit, so that only that unit fails', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('taken')`);
    const outcomes = await Promise.allSettled(['a', 'b', 'taken', 'c'].map((name) => shared(name)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({ reason: { code: '23505' } });
    expect(await transactions()).toEqual([['a'], ['b'], ['c'], ['taken']]);
    for (const name of ['a', 'b', 'c']) expect(await actorOf(name)).toEqual([name]);
  });

  it('repeats each unit of a shared transaction alone when one unit breaks the transaction', async () => {
    const broken = () => database.query({ text: 'SELECT 1 / 0' });
    const outcomes = await Promise.allSettled([shared('a'), shared('b'), shared('broken', broken), shared('c')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({ reason: { code: '22012' } });
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('repeats each unit of a shared transaction alone when writing the rows of one unit takes longer than allowed', async () => {
    const release = await app.given.lock(`INSERT INTO names VALUES ('waited for')`);
    const waits = async () => {
      if (unitOfWork.isShared) await database.query({ text: `SET LOCAL statement_timeout = '100ms'` });
      keep('waited for');
    };
    const outcomes = [shared('a'), shared('b'), shared('waits', waits), shared('c')];
    await Promise.all([outcomes[0], outcomes[1], outcomes[3]]);
    expect(await names()).toEqual(['a', 'b', 'c']);
    await release();
    await outcomes[2];
    expect(await names()).toEqual(['a', 'b', 'c', 'waited for']);
  });

  it('units of work are not repeated when the response to COMMIT is lost, whatever the error', async () => {
    let tries = 0;
    const lost = () => {
      tries++;
      keep('b');
      const { client } = currentTransaction.current as RunningUnit;
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      jest.spyOn(client, 'query').mockImplementation((...args: unknown[]) => {
        const answer = query(...args);
        if (args[0] === 'COMMIT') {
          const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
          stream.removeAllListeners('data');
          setTimeout(() => stream.destroy(Object.assign(new Error('write EPROTO'), { code: 'EPROTO' })), 200);
        }
        return answer as never;
      });
    };
    const outcomes = await Promise.allSettled([shared('a'), shared('b', lost), shared('c')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'EPROTO' } });
    expect(tries).toBe(1);
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('commits all changes of the other units of a shared transaction when one unit is refused after it has written', async () => {
    const write = async () => {
      await database.execute({ text: `INSERT INTO names VALUES ('written')` });
      throw validationError.error();
    };
    const outcomes = await Promise.allSettled([shared('a'), shared('b'), shared('written', write), shared('c')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('a unit of work that needs a transaction of its own does not share one', async () => {
    const own = () => unitOfWork.run(() => database.execute({ text: `INSERT INTO names VALUES ('own')` }));
    await Promise.all([shared('a'), shared('b'), shared('own', own), shared('c')]);
    expect(await transactions()).toEqual([['a'], ['b', 'c'], ['own']]);
  });

  it('the refusal of a unit of work is reported only when its transaction has ended and released its locks', async () => {
    const lock = async () => {
      const [{ locked }] = await database.query<{ locked: boolean }>({
        text: 'SELECT pg_try_advisory_xact_lock(4711) AS locked',
      });
      if (!locked) throw new Error('It is held.');
    };
    const refused = async () => {
      await lock();
      throw validationError.error();
    };
    const slow = async () => {
      await database.query({ text: 'SELECT pg_sleep(0.1)' });
      keep('slow');
    };
    const [, told] = await Promise.allSettled([
      shared('a'),
      shared('refused', refused).catch(() => unitOfWork.run(lock)),
      shared('slow', slow),
    ]);
    expect(told.status).toBe('fulfilled');
  });

  it('never combines two units of work on the same record in one transaction', async () => {
    const twice = () => {
      keep(`same-${unitOfWork.isShared ? 'shared' : 'alone'}`);
    };
    await Promise.all([
      shared('first'),
      ...[1, 2].map(() => unitOfWork.runWithOthers('same', () => Promise.resolve(twice()))),
    ]);
    expect(await transactions()).toEqual([['first'], ['same-alone'], ['same-shared']]);
  });

  it.each<[string, () => unknown]>([
    ['sends something at once', () => unitOfWork.send(INSERT, ['alone'])],
    ['writes a part', () => unitOfWork.part(() => Promise.resolve(keep('alone')))],
    [
      'asks after it has kept something',
      async () => {
        keep('alone');
        expect(await database.query(LOCK, ['alone'])).toEqual([{ name: 'alone', seen: 0 }]);
      },
    ],
    [
      'writes its buffered rows at once',
      () => {
        keep('alone');
        unitOfWork.recordNow();
      },
    ],
  ])('a unit of work that %s runs in a transaction of its own', async (_what, work) => {
    await Promise.all([shared('a'), shared('alone', work), shared('b'), shared('c')]);
    expect(await transactions()).toEqual([['a'], ['alone'], ['b', 'c']]);
    expect(await actorOf('alone')).toEqual(['alone']);
  });
});

describe('units of work that wait for a lock', () => {
  it('while units of work wait for a lock, other units get connections, and requests beyond the limit of waiting units get 503 with Retry-After', async () => {
    await app.given.sql(`INSERT INTO names VALUES ('held')`);
    const holder = await database.pool.connect();
    await holder.query(`BEGIN; SELECT * FROM names WHERE name = 'held' FOR UPDATE`);
    const units = Array.from({ length: 12 }, () => unitOfWork.run(() => database.query(RENAME, ['held'])));
    const outcomes = Promise.allSettled(units);
    try {
      expect((await app.call('GET', '/health/ready')).body).toMatchObject({ status: 'ok' });
      expect(await names()).toEqual(['held']);
      // The first three units of work timed out while they waited for the lock. The last six timed out while they
      // waited for a connection.
      for (const unit of [...units.slice(0, 3), ...units.slice(6)])
        expect(isDatabaseUnavailable(await unit.catch((error: unknown) => error))).toBe(true);
    } finally {
      await holder.query('COMMIT');
      holder.release();
    }
    const fulfilled = (await outcomes).flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []));
    // When the first of two units that wait for a lock gives up, the lock wait of the second unit begins again, and so
    // does its lock timeout.
    expect(fulfilled.slice(0, 2)).toEqual([3, 4]);
    expect(await app.given.sql('SELECT seen FROM names')).toEqual([{ seen: fulfilled.length }]);
  });
});
