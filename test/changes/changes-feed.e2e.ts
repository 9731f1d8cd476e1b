import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { examPath, nextUrl } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { Subscribed } from '../support/subscribed';
import { ChangePartitions } from '../../src/changes/change-partitions';
import { writePosition } from '../../src/changes/changes.dto';
import { Clock } from '../../src/platform/clock';
import type { Statement } from '../../src/platform/database/database';
import { sealCursor } from '../../src/platform/http/cursor';
import { ExpirySweep } from '../../src/eligibility/expiry-sweep';
import { UnitOfWork } from '../../src/platform/unit-of-work/unit-of-work';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
});

type Entry = Record<string, any>;

const call = (method: string, path: string, body?: unknown, token = scene.token) =>
  app.call(method, path, { token, body });

/** Returns a page of the change feed, and the path of the next page. */
async function page(path = `/accounts/${scene.account}/changes`): Promise<{ entries: Entry[]; next: string }> {
  await app.given.settled();
  const answer = await call('GET', path);
  expect(answer.status).toBe(200);
  const next = nextUrl(answer)!;
  expect(next.startsWith(`${app.url}/accounts/`)).toBe(true);
  return { entries: answer.body as Entry[], next: next.slice(app.url.length) };
}

const feed = async (query = '') => (await page(`/accounts/${scene.account}/changes${query}`)).entries;
const changes = async (query = '') => (await feed(query)).map((entry) => entry['change'] as string);
const sweep = () => app.app.get(ExpirySweep, { strict: false }).run();
const endNow = (record: Entry) =>
  app.given.sql(
    `UPDATE eligibilities SET eligibility_end_date = date_trunc('second', now()) - interval '1 second' WHERE svc_eligiblity_id = $1`,
    [record['svc_eligiblity_id']],
  );

describe('an entry of the change feed', () => {
  it('the change feed lists the changes of a record in order, even if the transaction of a later change began first', async () => {
    const [first, second] = [await app.given.eligibility(scene), await app.given.eligibility(scene)];
    const id = second['svc_eligiblity_id'] as string;
    const unitOfWork = app.app.get(UnitOfWork);
    const lock = (of: string) =>
      app.database.query({ text: 'SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1 FOR UPDATE' }, [of]);
    await unitOfWork.run(async () => {
      await lock(first['svc_eligiblity_id'] as string);
      expect((await call('POST', `/admin/eligibilities/${id}/hold`, { reason: 'x' }, operator)).status).toBe(204);
      await lock(id);
      unitOfWork.change({
        kind: 'ELIGIBILITY',
        change: 'RELEASED',
        at: new Date(),
        account_code: scene.account,
        svc_eligiblity_id: id,
        candidate_id: second['candidate'].candidate_id as string,
        test_code: scene.testCode,
        status: 'ELIGIBLE',
      });
    });
    const told = (await feed()).filter((entry) => entry['svc_eligiblity_id'] === id);
    expect(told.map(({ change }) => change)).toEqual(['CREATED', 'HELD', 'RELEASED']);
  });

  it('the change feed returns every member of an entry', async () => {
    const record = await app.given.eligibility(scene);
    expect(await feed()).toEqual([
      {
        id: expect.stringMatching(/^[A-Za-z0-9_-]+$/),
        kind: 'ELIGIBILITY',
        change: 'CREATED',
        at: record['created_datetime'],
        svc_eligiblity_id: record['svc_eligiblity_id'],
        candidate_id: record['candidate'].candidate_id,
        test_code: scene.testCode,
        booking_code: null,
        status: 'ELIGIBLE',
        revision: null,
        notification: null,
        event_sequence: null,
      },
    ]);
  });

  it('an entry of the change feed has the same id in every response', async () => {
    await app.given.eligibility(scene);
    await app.given.eligibility(scene);
    const ids = (await feed()).map((entry) => entry['id']);
    expect(new Set(ids).size).toBe(2);
    expect((await feed('?kind=ELIGIBILITY&limit=1')).map((entry) => entry['id'])).toEqual(ids.slice(0, 1));
  });

  it('the change feed has an entry for each change of a record, with the status after the change', async () => {
    const approval = await app.given.accommodation(scene.account, true);
    const voucher = await app.given.voucher(scene.account);
    const record = await app.given.eligibility(scene, {
      voucher_codes: [voucher],
      candidate: { special_accommodations: [approval] },
    });
    const admin = `/admin/eligibilities/${record['svc_eligiblity_id']}`;
    await call('POST', `${admin}/hold`, { reason: 'papers' }, operator);
    await call('POST', `${admin}/release`, undefined, operator);
    await call('POST', `${admin}/approve-accommodations`, undefined, operator);
    const { status: _, ...body } = (await call('GET', examPath(scene, record))).body[0];
    await call('PUT', examPath(scene, record), { ...body, candidate: { ...body.candidate, city: 'Oslo' } });
    await call('PUT', examPath(scene, record), body);
    await call('PUT', `${examPath(scene, record)}/vouchers`, []);
    await call('DELETE', examPath(scene, record));
    expect((await feed()).map(({ kind, change, status }) => [kind, change, status])).toEqual([
      ['ELIGIBILITY', 'CREATED', 'PENDING'],
      ['ELIGIBILITY', 'HELD', 'PENDING'],
      ['ELIGIBILITY', 'RELEASED', 'PENDING'],
      ['ELIGIBILITY', 'APPROVED', 'ELIGIBLE'],
      ['ELIGIBILITY', 'UPDATED', 'ELIGIBLE'],
      ['ELIGIBILITY', 'UPDATED', 'ELIGIBLE'],
      ['ELIGIBILITY', 'UPDATED', 'ELIGIBLE'],
      ['ELIGIBILITY', 'CANCELLED', 'CANCELLED'],
    ]);
  });

  it('a request that is refused or changes nothing adds no entry to the change feed', async () => {
    const record = await app.given.eligibility(scene);
    await call('PUT', examPath(scene, record), (await call('GET', examPath(scene, record))).body[0]);
    await call('POST', `/accounts/${scene.account}/candidates`, app.given.eligibilityBody('unknown'));
    await call(
      'POST',
      `/accounts/${scene.account}/candidates`,
      app.given.eligibilityBody(scene.testCode, { candidate: record['candidate'] }),
    );
    expect((await call('PUT', `${examPath(scene, record)}/vouchers`, [])).status).toBe(204);
    for (const decision of ['release', 'approve-accommodations'])
      expect(
        (await call('POST', `/admin/eligibilities/${record['svc_eligiblity_id']}/${decision}`, undefined, operator))
          .status,
      ).toBe(204);
    expect(await changes()).toEqual(['CREATED']);
  });
});

describe('a booking in the change feed', () => {
  it('each change of a booking adds one entry to the change feed, with the notification that partners receive', async () => {
    const subscribed = await Subscribed.start(app, {}, { scene });
    const one = await app.given.eligibility(scene);
    const booking = await app.given.booking(scene, one);
    await subscribed.reschedule(booking['booking_code']);
    await subscribed.cancel(booking['booking_code']);
    const second = await app.given.booking(scene, one, REMOTE);
    await call('POST', `/accounts/${scene.account}/bookings/${second['booking_code']}/absence`, { excused: true });
    const third = await app.given.booking(scene, one);
    await call('POST', `/accounts/${scene.account}/bookings/${third['booking_code']}/absence`, { excused: false });
    const entries = await feed('?kind=BOOKING');
    expect(entries.map(({ change, status, event_sequence }) => [change, status, event_sequence])).toEqual([
      ['SCHEDULED', 'SCHEDULED', 1],
      ['RESCHEDULED', 'SCHEDULED', 2],
      ['BOOKING_CANCELLED', 'ELIGIBLE', 3],
      ['SCHEDULED', 'SCHEDULED', 1],
      ['EXCUSED_ABSENT', 'ELIGIBLE', 2],
      ['SCHEDULED', 'SCHEDULED', 1],
      ['ABSENT', 'ABSENT', 2],
    ]);
    const sent = await subscribed.partner.received(7);
    const bySequence = (all: { booking_code: string; sequence: number; body: unknown }[]) =>
      all.map((one_) => [`${one_.booking_code} ${one_.sequence}`, one_.body]).sort();
    expect(
      bySequence(
        entries.map((entry) => ({
          booking_code: entry['booking_code'],
          sequence: entry['event_sequence'],
          body: entry['notification'],
        })),
      ),
    ).toEqual(
      bySequence(
        sent.map(({ json, headers }) => ({
          booking_code: json.booking_code,
          sequence: Number(headers['event-sequence']),
          body: json,
        })),
      ),
    );
    expect(await changes('?kind=ELIGIBILITY')).toEqual(['CREATED']);
    await subscribed.stop();
  });
});

const REMOTE = {
  delivery_mode: 'SVC_REMOTE_PROCTORED',
  location_code: null,
  location_name: null,
  location_address: null,
  location_timezone: 'Europe/Oslo',
};

describe('a result in the change feed', () => {
  it('each result adds one entry: the first has the notification and status COMPLETED, and later entries are marked as revised', async () => {
    const deliveries = new Deliveries(app);
    const record = await app.given.eligibility(scene);
    const booking = await app.given.booking(scene, record);
    const body = (marker: number) => registrationBody({ examMetaData: { examCode: booking['booking_code'] }, marker });
    for (const marker of [1, 1, 2]) await deliveries.register(scene.token, body(marker));
    const entries = await feed('?kind=RESULT');
    expect(
      entries.map(({ change, status, revision, booking_code, event_sequence, notification }) => [
        change,
        status,
        revision,
        booking_code,
        event_sequence,
        notification?.change_reason,
      ]),
    ).toEqual([
      ['RESULT_RECEIVED', 'COMPLETED', 1, booking['booking_code'], 2, 'EXAM_COMPLETED'],
      ['RESULT_REVISED', 'COMPLETED', 2, booking['booking_code'], null, undefined],
    ]);
    expect(await changes()).toEqual(['CREATED', 'SCHEDULED', 'RESULT_RECEIVED', 'RESULT_REVISED']);
  });

  it('the change feed gets an entry without a change of status for a simulated exam, and another entry for the real exam', async () => {
    const deliveries = new Deliveries(app);
    const record = await app.given.eligibility(scene);
    const examMetaData = { examCode: record['svc_eligiblity_id'] };
    await deliveries.register(
      scene.token,
      registrationBody({ examMetaData: { ...examMetaData, simulatedExam: true } }),
    );
    await deliveries.register(scene.token, registrationBody({ examMetaData }));
    await deliveries.put(scene, accountBody(record['candidate'].candidate_id));
    expect(
      (await feed('?kind=RESULT')).map(({ change, status, revision, notification }) => [
        change,
        status,
        revision,
        notification?.change_reason,
      ]),
    ).toEqual([
      ['RESULT_RECEIVED', 'ELIGIBLE', 1, undefined],
      ['RESULT_RECEIVED', 'COMPLETED', 2, 'EXAM_COMPLETED'],
      ['RESULT_REVISED', 'COMPLETED', 3, undefined],
    ]);
  });

  it("when a result creates the missing booking of an exam, the result's entry in the change feed names this booking", async () => {
    const record = await app.given.eligibility(scene);
    await new Deliveries(app).put(scene, accountBody(record['candidate'].candidate_id));
    const [entry] = await feed('?kind=RESULT');
    expect(entry).toMatchObject({ change: 'RESULT_RECEIVED', status: 'COMPLETED', event_sequence: 1 });
    expect(entry['notification'].booking_code).toBe(entry['booking_code']);
  });
});

describe('an expiry in the change feed', () => {
  it('simultaneous expiry sweeps add only one entry for an expired record, with the time of its expiry', async () => {
    const record = await app.given.eligibility(scene);
    await endNow(record);
    await Promise.all(Array.from({ length: 5 }, sweep));
    const [{ eligibility_end_date }] = (await call('GET', examPath(scene, record))).body;
    expect((await feed()).map(({ change, status, at }) => [change, status, at])).toEqual([
      ['CREATED', 'ELIGIBLE', record['created_datetime']],
      ['EXPIRED', 'EXPIRED', eligibility_end_date],
    ]);
  });

  it('an expiry is in the change feed even if a new record replaces the expired record before the expiry sweep runs', async () => {
    const record = await app.given.eligibility(scene);
    await endNow(record);
    await app.given.eligibility(scene, { candidate: record['candidate'] });
    await sweep();
    expect(await changes()).toEqual(['CREATED', 'EXPIRED', 'CREATED']);
  });

  it('the change feed lists an expiry before all later changes, even changes that are made before the expiry sweep runs', async () => {
    const admin = (record: Entry, what: string, body?: object) =>
      call('POST', `/admin/eligibilities/${record['svc_eligiblity_id']}/${what}`, body, operator);
    const voucher = await app.given.voucher(scene.account);
    const ways: [string, (record: Entry) => Promise<unknown>][] = [
      [
        'UPDATED ELIGIBLE',
        (record) => call('PUT', examPath(scene, record), app.given.eligibilityBody(scene.testCode, record)),
      ],
      ['CANCELLED CANCELLED', (record) => call('DELETE', examPath(scene, record))],
      ['UPDATED EXPIRED', (record) => call('PUT', `${examPath(scene, record)}/vouchers`, [voucher])],
      ['RELEASED EXPIRED', (record) => admin(record, 'release')],
      [
        'RESULT_RECEIVED COMPLETED',
        (record) => new Deliveries(app).put(scene, accountBody(record['candidate'].candidate_id)),
      ],
    ];
    for (const [told, change] of ways) {
      const record = await app.given.eligibility(scene);
      await admin(record, 'hold', { reason: 'papers' });
      if (told !== 'RELEASED EXPIRED') await admin(record, 'release');
      const { next } = await page(`/accounts/${scene.account}/changes?after=now`);
      await endNow(record);
      await change(record);
      await sweep();
      const { entries } = await page(next);
      expect(entries.map((entry) => `${entry['change']} ${entry['status']}`)).toEqual(['EXPIRED EXPIRED', told]);
    }
  });

  it('an update that makes a record expire adds only one entry to the change feed', async () => {
    const record = await app.given.eligibility(scene);
    const body = (await call('GET', examPath(scene, record))).body[0];
    await call('PUT', examPath(scene, record), { ...body, eligibility_end_date: '2020-01-01T00:00:00Z' });
    await sweep();
    expect((await feed()).map(({ change, status }) => [change, status])).toEqual([
      ['CREATED', 'ELIGIBLE'],
      ['UPDATED', 'EXPIRED'],
    ]);
  });
});

describe('the pages of the change feed', () => {
  it('every page of the change feed, even an empty page, has a link to the next page', async () => {
    let { entries, next } = await page();
    expect(entries).toEqual([]);
    await app.given.eligibility(scene);
    ({ entries, next } = await page(next));
    expect(entries).toHaveLength(1);
    ({ entries, next } = await page(next));
    expect(entries).toEqual([]);
    await app.given.eligibility(scene);
    ({ entries, next } = await page(next));
    expect(entries).toHaveLength(1);
  });

  it('a page of the change feed has as many entries as limit allows, the oldest first, and repeats no entry of an earlier page', async () => {
    for (let n = 0; n < 7; n++) await app.given.eligibility(scene);
    const all = (await feed()).map((entry) => entry['id']);
    expect(all).toHaveLength(7);
    const walked: string[] = [];
    let next = `/accounts/${scene.account}/changes?limit=3`;
    for (let n = 0; n < 4; n++) {
      const answer = await page(next);
      walked.push(...answer.entries.map((entry) => entry['id'] as string));
      expect(answer.next).toContain('limit=3');
      next = answer.next;
    }
    expect(walked).toEqual(all);
  });

  it('the change feed begins at the current moment if the request contains after=now', async () => {
    await app.given.eligibility(scene);
    const { entries, next } = await page(`/accounts/${scene.account}/changes?after=now`);
    expect(entries).toEqual([]);
    expect((await page(next)).entries).toEqual([]);
    await app.given.eligibility(scene);
    expect((await page(next)).entries).toHaveLength(1);
  });

  it('the change feed lists only the changes of the account in the path', async () => {
    const other = await app.given.scene();
    await app.given.eligibility(other);
    expect(await feed()).toEqual([]);
    expect((await call('GET', `/accounts/${other.account}/changes`)).status).toBe(403);
  });

  it.each([
    ['after=nonsense', 'after', 'cursor_invalid'],
    ['limit=0', 'limit', 'limit_invalid'],
    ['kind=ALL', 'kind', 'kind_unknown'],
  ])('a request for the change feed with %s is answered with 400', async (query, parameter, code) => {
    const answer = await call('GET', `/accounts/${scene.account}/changes?${query}`);
    expect([answer.status, answer.body.errors]).toEqual([400, [expect.objectContaining({ parameter, code })]]);
  });

  it('the change feed does not accept a cursor from another list', async () => {
    await app.given.eligibility(scene);
    await app.given.eligibility(scene);
    const list = await call('GET', `/accounts/${scene.account}/eligibilities?limit=1`);
    const cursor = new URL(/<([^>]+)>/.exec(list.headers.get('link')!)![1]).searchParams.get('cursor');
    expect((await call('GET', `/accounts/${scene.account}/changes?after=${cursor}`)).status).toBe(400);
  });

  it('the change feed requires the `read` scope', async () => {
    const token = await app.given.token([scene.account], ['create']);
    expect((await call('GET', `/accounts/${scene.account}/changes`, undefined, token)).status).toBe(403);
  });
});

const partitions = async () =>
  (await app.given.sql(
    `SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'changes'::regclass ORDER BY 1`,
  )) as { relname: string }[];

describe('the retention of the change feed', () => {
  it('expired entries are deleted month by month, and a cursor that points to a deleted month gets 410', async () => {
    const { next } = await page();
    await app.given.sql(
      `CREATE TABLE changes_202001 PARTITION OF changes FOR VALUES FROM ('2020-01-01Z') TO ('2020-02-01Z')`,
    );
    const keeper = app.app.get(ChangePartitions, { strict: false });
    await Promise.all([keeper.run(), keeper.run(), keeper.run()]);
    await eventually(async () => {
      await keeper.run();
      expect((await partitions()).map(({ relname }) => relname)).not.toContain('changes_202001');
    });
    expect(await partitions()).toHaveLength(4);
    expect((await page(next)).entries).toEqual([]);
    const later = new Date(Date.now() + 401 * 86_400_000);
    const clock = jest.spyOn(app.app.get(Clock), 'now').mockReturnValue(later);
    try {
      const answer = await call('GET', next);
      expect([answer.status, answer.body.code]).toEqual([410, 'cursor_expired']);
    } finally {
      clock.mockRestore();
    }
  });
});

describe('dropping a month of the change feed', () => {
  /**
   * Creates an entry in the middle of a month of 2020. @returns the path that continues after this entry, with a cursor
   * that is issued at the time of the call
   */
  async function readUpTo(month: string, completeUntilS: number): Promise<string> {
    const begin = new Date(`2020-${month}-01T00:00:00Z`);
    const end = new Date(begin);
    end.setUTCMonth(begin.getUTCMonth() + 1);
    await app.given.sql(
      `CREATE TABLE changes_2020${month} PARTITION OF changes
       FOR VALUES FROM ('${begin.toISOString()}') TO ('${end.toISOString()}')`,
    );
    await app.given.eligibility(scene);
    await app.given.settled();
    const middleS = begin.getTime() / 1000 + 14 * 86_400;
    const [row] = await app.given.sql(
      `UPDATE changes SET recorded_at = to_timestamp($2) WHERE account_code = $1 RETURNING generation, xid, position`,
      [scene.account, middleS],
    );
    const { generation, xid, position } = row as Record<'generation' | 'xid' | 'position', number>;
    const issuedS = Math.floor(Date.now() / 1000);
    const cursor = writePosition({
      generation,
      xid,
      position,
      recordedUs: middleS * 1_000_000,
      completeUntilS,
      issuedS,
    });
    return `/accounts/${scene.account}/changes?after=${sealCursor(cursor)}`;
  }
  const drop = (month: string) =>
    eventually(async () => {
      await app.app.get(ChangePartitions, { strict: false }).run();
      expect(await app.given.sql(`SELECT to_regclass('changes_2020${month}') AS it`)).toEqual([{ it: null }]);
    });

  it('a request to the change feed succeeds even if the month of its cursor is deleted while the request waits for a transaction', async () => {
    const path = await readUpTo('02', Math.floor(Date.now() / 1000));
    const other = new pg.Client({ connectionString: app.databaseUrl });
    await other.connect();
    await other.query('BEGIN; SELECT pg_current_xact_id()');
    // Commits a transaction with a higher id, because otherwise the page would not wait for the running transaction.
    await app.given.sql('SELECT pg_current_xact_id()');
    const query = app.database.query.bind(app.database);
    let looks = 0;
    const spy = jest.spyOn(app.database, 'query').mockImplementation((async (
      statement: Statement,
      values: unknown[],
    ) => {
      const rows = await query(statement, values);
      if (statement.name === 'changes-read' && ++looks === 1) {
        await drop('02');
        await other.query('COMMIT');
      }
      return rows;
    }) as typeof query);
    try {
      expect((await call('GET', path)).status).toBe(200);
      expect(looks).toBeGreaterThan(1);
    } finally {
      spy.mockRestore();
      await other.end();
    }
  });

  it('a cursor from the first day after a deleted month gets 410, because changes of a late transaction may be missing', async () => {
    const told = Date.UTC(2020, 3, 1, 1) / 1000;
    const path = await readUpTo('03', told);
    await app.given.sql(
      `CREATE TABLE changes_202004 PARTITION OF changes FOR VALUES FROM ('2020-04-01Z') TO ('2020-05-01Z')`,
    );
    expect((await call('GET', path)).status).toBe(200);
    const clock = jest.spyOn(app.app.get(Clock), 'now').mockReturnValue(new Date((told + 401 * 86_400) * 1000));
    try {
      await drop('03');
      const answer = await call('GET', path);
      expect([answer.status, answer.body.code]).toEqual([410, 'cursor_expired']);
      expect((await partitions()).map(({ relname }) => relname)).toContain('changes_202004');
    } finally {
      clock.mockRestore();
    }
  });
});

describe('entries of past months', () => {
  let sandbox: TestApp;

  beforeAll(async () => {
    sandbox = await startApp({
      env: {
        SANDBOX: 'true',
        CHANGES_RETENTION_DAYS: '1',
        SECRETS_KEY: randomBytes(32).toString('base64'),
      },
    });
  });
  afterAll(() => sandbox.close());

  const move = async (body: object) => {
    const token = await sandbox.given.operator();
    expect((await sandbox.call('POST', '/sandbox/clock', { token, body })).status).toBe(200);
  };

  it('the change feed keeps a past month for the retention period, and then answers 410 to a cursor from that month', async () => {
    const today = new Date();
    const lastDay = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2, 0, 20));
    await move({ now: dateTime(lastDay.getTime()) });
    const { account, testCode } = await sandbox.given.scene();
    // Each call needs a new token, because the test moves the clock, which makes tokens expire.
    const get = async (path: string) => sandbox.call('GET', path, { token: await sandbox.given.token([account]) });
    const nextOf = (answer: { headers: Headers }) =>
      /^<([^>]+)>/.exec(answer.headers.get('link')!)![1].slice(sandbox.url.length);
    const create = async () => {
      const token = await sandbox.given.token([account]);
      const end = dateTime(lastDay.getTime() + 90 * 86_400_000);
      return (await sandbox.given.eligibility({ account, testCode, token }, { eligibility_end_date: end }))[
        'svc_eligiblity_id'
      ] as string;
    };
    const [first, second] = [await create(), await create()];
    await sandbox.given.settled();
    const ids = (answer: { body: Entry[] }) => answer.body.map((entry) => entry['svc_eligiblity_id'] as string);

    await move({ advance_s: 23 * 3600 });
    const page1 = await get(`/accounts/${account}/changes?limit=1`);
    expect(ids(page1)).toEqual([first]);
    await move({ advance_s: 3 * 3600 });
    expect(ids(await get(nextOf(page1)))).toEqual([second]);
    expect(ids(await get(`/accounts/${account}/changes`))).toEqual([]);

    // The partition is kept for one more day after its entries have expired, because a transaction may commit up to a
    // day late.
    await move({ advance_s: 3 * 3600 });
    await sandbox.app.get(ChangePartitions, { strict: false }).run();
    const page2 = await get(nextOf(page1));
    expect(ids(page2)).toEqual([second]);

    await move({ advance_s: 23 * 3600 });
    await eventually(async () => {
      await sandbox.app.get(ChangePartitions, { strict: false }).run();
      const answer = await get(nextOf(page2));
      expect([answer.status, answer.body.code]).toEqual([410, 'cursor_expired']);
    });
  });
});
