import { randomUUID } from 'node:crypto';
import pg from 'pg';
import pino, { type Logger as Pino } from 'pino';
import { openApiDocument } from '../../src/openapi/document';
import { Clock } from '../../src/platform/clock';
import { Logger } from '../../src/platform/observability/logger';
import { Metrics } from '../../src/platform/observability/metrics';
import { RetentionSweep } from '../../src/privacy/retention-sweep';
import { eventually } from '../support/eventually';
import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody } from '../support/deliveries';
import { Subscribed } from '../support/subscribed';

/** Creates values that identify a person. No value is a substring of another value. */
function planted() {
  const mark = randomUUID().slice(0, 8);
  const names = [
    'candidate_id',
    'first_name',
    'middle_name',
    'last_name',
    'suffix',
    'address1',
    'address2',
    'city',
    'postal_code',
    'home_phone',
    'office_phone',
    'attribute',
    'client_id',
    'hold',
    'locator',
    'result_id',
    'tester_first',
    'tester_last',
    'comments',
    'desktop',
    'reviewer',
    'password',
    'unknown',
    'photo',
    'video',
    'unmatched',
    'excerpt',
    'import',
  ] as const;
  const values = Object.fromEntries(names.map((name, index) => [name, `Zq${mark}x${index}z`])) as Record<
    (typeof names)[number] | 'email' | 'tester_email',
    string
  >;
  return { ...values, email: `zq${mark}y@example.org`, tester_email: `zq${mark}t@example.org` };
}

describe('the data of a candidate', () => {
  let app: TestApp;
  let subscribed: Subscribed;
  let operator: string;
  const log: string[] = [];

  beforeAll(async () => {
    app = await startApp();
    const { pino: logger } = app.app.get<Logger, { pino: Pino }>(Logger);
    logger.level = 'trace';
    Object.assign(logger, { [pino.symbols.streamSym]: { write: (line: string) => log.push(line) } });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    subscribed = await Subscribed.start(app);
    operator = await app.given.operator();
  });
  afterEach(() => subscribed.stop());

  const admin = (method: string, path: string, body?: object) =>
    app.call(method, `/admin/${path}`, { token: operator, body });
  const ofCandidate = (account: string, id: string, what: string) =>
    `accounts/${account}/candidates/${encodeURIComponent(id)}/${what}`;

  /** Returns the tables and columns that contain a value, as text or as bytes. */
  async function whereIs(values: readonly string[]): Promise<string[]> {
    const tables = await app.given.sql(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'm') ORDER BY relname`,
    );
    const found: string[] = [];
    for (const { relname } of tables) {
      const rows = await app.given.sql(
        `SELECT DISTINCT value FROM ${relname} row, unnest($1::text[]) AS value
         WHERE strpos(lower(row::text), lower(value)) > 0
            OR strpos(lower(row::text), encode(convert_to(value, 'UTF8'), 'hex')) > 0`,
        [values],
      );
      found.push(...rows.map(({ value }) => `${relname}: ${value}`));
    }
    return found;
  }

  /**
   * Calls all GET routes as an operator, with the given values of the path parameters, and returns the responses. The
   * event stream is left out, because it contains no data.
   */
  async function readEverything(names: Record<string, string>) {
    const { paths } = openApiDocument(app.app, app.config);
    const reads = Object.keys(paths).filter((path) => paths[path].get && !/^\/(docs|admin\/events)/.test(path));
    const answers: { path: string; status: number; text: string }[] = [];
    for (const path of reads) {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? 'nothing'));
      const query = path.endsWith('{candidate_id}/eligibilities') ? '?status=all' : '';
      const { status, text } = await app.call('GET', filled + query, { token: operator });
      answers.push({ path, status, text });
    }
    return answers;
  }

  /**
   * Creates a candidate with all kinds of data. The exam of the candidate is over, and the candidate has another record
   * that is still open.
   */
  async function known() {
    const values = planted();
    const { account, testCode, token } = subscribed.scene;
    const scene = { account, testCode, token };
    const second = await app.given.test(account);
    const key = await app.given.attributeKey(account);
    const school = await app.given.school(account);
    const candidate = {
      candidate_id: values.candidate_id,
      first_name: values.first_name,
      middle_name: values.middle_name,
      last_name: values.last_name,
      suffix: values.suffix.slice(0, 20),
      address1: values.address1,
      address2: values.address2,
      city: values.city,
      postal_code: values.postal_code.slice(0, 20),
      email: values.email,
      home_phone: values.home_phone,
      office_phone: values.office_phone,
      school_code: school,
      additional_attributes: [{ key, value: values.attribute }],
    };
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      app.call('POST', `/accounts/${account}/${path}`, { token, body, headers });
    const body = app.given.eligibilityBody(testCode, {
      candidate,
      client_eligibility_id: values.client_id.slice(0, 20),
    });
    const created = await post('candidates', body, { 'idempotency-key': randomUUID() });
    expect(created.status).toBe(200);
    subscribed.partner.answer({ status: 400, body: `no ${values.excerpt}` });
    const booking = await app.given.booking({ account, testCode, token }, created.body);
    await eventually(async () => expect((await subscribed.queue()).length).toBeGreaterThan(0));
    const delivered = await app.call('POST', '/registrations/registration/results', {
      token,
      body: {
        examTakerEmail: values.tester_email,
        examTakerFirstName: values.tester_first,
        examTakerLastName: values.tester_last,
        overAllComments: values.comments,
        desktopComments: [{ comments: values.desktop }],
        examApiData: { reviewerNotes: values.reviewer, examPassword: values.password },
        examMetaData: { examCode: booking['booking_code'], extRecordLocator: values.locator },
        userPhotoBase64String: Buffer.from(values.photo).toString('base64'),
        videoReviewLink: `https://video.example/${values.video}`,
        note: values.unknown,
      },
    });
    expect([delivered.status, delivered.text]).toEqual([200, '']);
    const account_result = await app.call('PUT', `/accounts/${account}`, {
      token,
      body: { candidate_id: values.candidate_id, result: 'PASS', result_id: values.result_id },
    });
    expect([account_result.status, account_result.text]).toEqual([200, '']);
    await app.call('POST', '/registrations/registration/results', {
      token,
      body: { examTakerEmail: values.email, overAllComments: values.unmatched, examMetaData: { examCode: 'NOBODYS' } },
    });
    const open = await post('candidates', app.given.eligibilityBody(second, { candidate }));
    await admin('POST', `eligibilities/${open.body.svc_eligiblity_id}/hold`, { reason: values.hold });
    return { values, scene, created: created.body, open: open.body, booking };
  }

  it('an export contains all data of a candidate, including photos and video links, and writes an audit row', async () => {
    const { values, scene, created, booking } = await known();
    const answer = await admin('GET', ofCandidate(scene.account, values.candidate_id, 'export'));
    expect(answer.status).toBe(200);
    const missing = Object.entries(values).filter(
      ([name, value]) => !['import', 'photo'].includes(name) && !answer.text.includes(value.slice(0, 20)),
    );
    expect(missing).toEqual([]);
    expect(answer.text).toContain(Buffer.from(values.photo).toString('base64'));
    expect(answer.body.bookings[0].booking_code).toBe(booking['booking_code']);
    expect(answer.body.notifications.length).toBeGreaterThan(0);
    const members = ['at', 'duration_ms', 'excerpt', 'failure', 'http_status', 'reason', 'trigger'];
    expect(Object.keys(answer.body.notifications[0].attempts[0] as object).sort()).toEqual(members);
    const audit = await admin('GET', 'audit?action=candidate.export');
    expect(answer.body.records.map((record: any) => record.svc_eligiblity_id)).toContain(audit.body[0].subject);
    expect(answer.body.records.map((record: any) => record.svc_eligiblity_id)).toContain(created.svc_eligiblity_id);
  });

  it("an export of a candidate's data names the record or the booking that each notification is about", async () => {
    await subscribed.patch({ record_changes: ['CREATED'] });
    const record = await app.given.eligibility(subscribed.scene);
    const { booking_code } = await app.given.booking(subscribed.scene, record);
    await eventually(async () => expect(await subscribed.notifications()).toHaveLength(2));
    const path = ofCandidate(subscribed.scene.account, record['candidate'].candidate_id, 'export');
    const { body } = await admin('GET', path);
    // The notification about the record is created only after the change feed contains the entry about the record. The
    // notification may therefore come after the notification about the booking.
    expect(body.notifications).toHaveLength(2);
    expect(body.notifications).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          change_reason: 'CREATED',
          booking_code: null,
          svc_eligiblity_id: record['svc_eligiblity_id'],
        }),
        expect.objectContaining({ change_reason: 'BOOKING_CREATED', booking_code, svc_eligiblity_id: null }),
      ]),
    );
  });

  it('after an erasure no value of the candidate is in any table or response, and counts are unchanged', async () => {
    const { values, scene, created, open, booking } = await known();
    const everything = Object.values(values);
    expect((await whereIs(everything)).length).toBeGreaterThan(20);
    const before = await app.given.sql('SELECT revision, source, received_datetime FROM result_revisions ORDER BY 1');

    const answer = await admin('POST', ofCandidate(scene.account, values.candidate_id, 'erase'), {
      reason: 'asked for',
    });
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({ job_id: expect.any(String), matched: 2 });
    const job = await eventually(async () => {
      const { body } = await admin('GET', `jobs/${answer.body.job_id}`);
      expect(body.state).toBe('DONE');
      return body;
    });
    expect(job).toMatchObject({ kind: 'ERASE', reason: 'asked for', matched: 2 });

    expect(await whereIs(everything)).toEqual([]);
    expect((await admin('GET', ofCandidate(scene.account, values.candidate_id, 'export'))).status).toBe(404);
    const [record] = await app.given.sql('SELECT * FROM eligibilities WHERE svc_eligiblity_id = $1', [
      created.svc_eligiblity_id,
    ]);
    expect(record).toMatchObject({ status: 'COMPLETED', first_name: 'erased', email: null });
    expect(record['candidate_id']).toMatch(/^ERASED-[A-Z2-9]{12}$/);
    const [other] = await app.given.sql('SELECT status, candidate_id FROM eligibilities WHERE svc_eligiblity_id = $1', [
      open.svc_eligiblity_id,
    ]);
    expect(other).toEqual({ status: 'CANCELLED', candidate_id: record['candidate_id'] });
    expect(await app.given.sql('SELECT revision, source, received_datetime FROM result_revisions ORDER BY 1')).toEqual(
      before,
    );

    const token = scene.token;
    const pseudonym: string = record['candidate_id'];
    const inClear = (text: string) => everything.filter((value) => text.toLowerCase().includes(value.toLowerCase()));
    const queue = (await admin('GET', 'error-queue')).body as { id: string }[];
    expect(queue[0]).toMatchObject({ candidate_id: pseudonym, candidate_name: null });
    const read = await readEverything({
      account_code: scene.account,
      candidate_id: pseudonym,
      test_code: scene.testCode,
      booking_code: booking['booking_code'] as string,
      svc_eligibility_code: created.svc_eligiblity_id,
      job_id: answer.body.job_id,
      notification_id: queue[0].id,
      id: queue[0].id,
    });
    expect(read.filter(({ text }) => inClear(text).length > 0).map(({ path }) => path)).toEqual([]);
    expect(read.filter(({ status }) => status >= 500).map(({ path }) => path)).toEqual([]);
    expect(read.filter(({ status }) => status === 200).length).toBeGreaterThan(25);
    for (const value of [values.candidate_id, values.email, values.last_name, values.client_id.slice(0, 20)])
      expect((await admin('GET', `candidates?q=${encodeURIComponent(value)}`)).body).toEqual([]);
    expect(log.length).toBeGreaterThan(20);
    expect(inClear(log.join('\n'))).toEqual([]);
    expect(inClear(await app.app.get(Metrics).registry.metrics())).toEqual([]);

    const records = await app.call('GET', `/accounts/${scene.account}/candidates/${pseudonym}`, { token });
    expect(records.body.map((one: any) => one.status).sort()).toEqual(['CANCELLED', 'COMPLETED']);
    await app.given.settled();
    const feed = await app.call('GET', `/accounts/${scene.account}/changes?limit=200`, { token });
    expect(everything.filter((value) => feed.text.toLowerCase().includes(value.toLowerCase()))).toEqual([]);
    const told = feed.body.filter((entry: any) => entry.candidate_id === pseudonym).map((entry: any) => entry.change);
    expect(told).toContain('RESULT_RECEIVED');
    expect(told.slice(-3)).toEqual(['CANCELLED', 'ERASED', 'ERASED']);
    const audit = await admin('GET', `audit?action=candidate.erase&subject=${created.svc_eligiblity_id}`);
    expect(audit.body).toHaveLength(1);
  });

  /** Exports the data of a candidate, and returns the `marker` value of each unmatched result in the export. */
  async function unmatchedOf(account: string, id: string): Promise<unknown[]> {
    const { body } = await admin('GET', ofCandidate(account, id, 'export'));
    return body.unmatched_results.map((result: any) => result.body.marker as unknown);
  }

  async function erase(account: string, id: string): Promise<void> {
    const { body } = await admin('POST', ofCandidate(account, id, 'erase'), { reason: 'asked for' });
    await eventually(async () => expect((await admin('GET', `jobs/${body.job_id}`)).body.state).toBe('DONE'));
  }

  const keptUnmatched = async () =>
    (await app.given.sql(`SELECT body::json->>'marker' AS marker FROM unmatched_results`)).map(({ marker }) => marker);

  it("an export includes unmatched results that contain the candidate's client_eligibility_id or e-mail address", async () => {
    const { account, token } = subscribed.scene;
    const mark = app.given.unique('m');
    const clientId = app.given.unique('CE');
    const record = await app.given.eligibility(subscribed.scene, {
      client_eligibility_id: clientId,
      candidate: { email: `${mark}ΟΔΟΣ@example.org` },
    });
    const id = record['candidate'].candidate_id as string;
    await app.call('DELETE', `/accounts/${account}/candidates/${id}/tests/${record['test_code']}`, { token });
    const deliveries = new Deliveries(app);
    const refused = async (marker: string, changes: object) =>
      expect((await deliveries.register(token, registrationBody({ marker, ...changes }))).status).toBe(400);
    await refused(`${mark}-code`, { examMetaData: { examCode: clientId } });
    await refused(`${mark}-email`, { examTakerEmail: `${mark.toUpperCase()}οδοσ@example.org` });
    await refused(`${mark}-else`, { examTakerEmail: `else${mark}@example.org` });
    expect((await unmatchedOf(account, id)).sort()).toEqual([`${mark}-code`, `${mark}-email`]);
    await erase(account, id);
    expect((await keptUnmatched()).filter((marker) => marker?.startsWith(mark))).toEqual([`${mark}-else`]);
  });

  it('an export of a candidate includes no unmatched results of another account, whatever they contain', async () => {
    const mine = subscribed.scene;
    const other = await app.given.scene();
    const marker = app.given.unique('m');
    const clientId = app.given.unique('CE');
    const extRecordLocator = app.given.unique('L');
    const record = await app.given.eligibility(mine, {
      client_eligibility_id: clientId,
      candidate: { email: `${marker}@example.org` },
    });
    const deliveries = new Deliveries(app);
    const examMetaData = { examCode: record['svc_eligiblity_id'] as string, extRecordLocator };
    expect((await deliveries.register(mine.token, registrationBody({ examMetaData }))).status).toBe(200);
    const body = (meta: object) =>
      registrationBody({ marker, examMetaData: meta, examTakerEmail: `${marker}@example.org` });
    for (const meta of [{ examCode: clientId }, { extRecordLocator }])
      expect((await deliveries.register(other.token, body(meta))).status).toBe(400);
    const id = record['candidate'].candidate_id as string;
    expect(await unmatchedOf(mine.account, id)).toEqual([]);
    await erase(mine.account, id);
    expect((await keptUnmatched()).filter((kept) => kept === marker)).toHaveLength(2);
    // The export also contains results with the candidate's own ids, and results that name the candidate's record.
    const again = await app.given.eligibility(mine, { candidate: { email: `${marker}@example.org` } });
    await deliveries.register(other.token, body({ examCode: again['svc_eligiblity_id'] }));
    expect(await unmatchedOf(mine.account, again['candidate'].candidate_id as string)).toEqual([marker]);
  });

  it('an erasure succeeds on its second attempt when a deadlock ends the first attempt', async () => {
    const { account } = subscribed.scene;
    const record = await app.given.eligibility(subscribed.scene);
    // The trigger counts the attempts of the erasure with a sequence, because a rollback does not undo the increments
    // of a sequence.
    await app.given.sql('CREATE SEQUENCE goes');
    await app.given.sql(`CREATE FUNCTION deadlock_once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('goes') = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
        RETURN NEW;
      END $$`);
    await app.given.sql(
      `CREATE TRIGGER deadlock_once BEFORE UPDATE ON eligibilities FOR EACH ROW WHEN (NEW.first_name = 'erased')
       EXECUTE FUNCTION deadlock_once()`,
    );
    try {
      await erase(account, record['candidate'].candidate_id as string);
      expect(await app.given.sql('SELECT last_value > 1 AS again FROM goes')).toEqual([{ again: true }]);
    } finally {
      await app.given.sql('DROP TRIGGER deadlock_once ON eligibilities');
    }
  });

  it('an erasure is refused while the candidate has an open booking, and changes nothing', async () => {
    const eligibility = await app.given.eligibility(subscribed.scene);
    const { booking_code } = await app.given.booking(subscribed.scene, eligibility);
    const id = eligibility['candidate'].candidate_id;
    const answer = await admin('POST', ofCandidate(subscribed.scene.account, id, 'erase'), { reason: 'asked for' });
    expect([answer.status, answer.body.code]).toEqual([409, 'candidate_has_open_booking']);
    expect(answer.body).toMatchObject({
      booking_code,
      detail: expect.stringContaining(`booking ${booking_code} first`),
    });
    expect(await app.given.sql('SELECT first_name FROM eligibilities WHERE candidate_id = $1', [id])).toEqual([
      { first_name: 'Ada' },
    ]);
  });

  it("an erasure does not read other candidates' rows, however long the account's history is", async () => {
    const { account, testCode } = subscribed.scene;
    const eligibility = await app.given.eligibility(subscribed.scene);
    await app.given.slowSql(
      `INSERT INTO changes (account_code, kind, generation, xid, recorded_at, at, change, svc_eligiblity_id, candidate_id, test_code, status)
       SELECT $1, 'ELIGIBILITY', generation, xid - 1, recorded_at, at, 'UPDATED', 'ZZZ' || n, 'C-' || n, $2, 'ELIGIBLE'
       FROM generate_series(1, 30000) n, (SELECT * FROM changes WHERE svc_eligiblity_id = $3) told`,
      [account, testCode, eligibility['svc_eligiblity_id']],
    );
    await app.given.slowSql(
      `INSERT INTO idempotency_keys (consumer_key, username, idempotency_key, request_hash, status, body)
       SELECT 'K' || n % 7, 'U' || n % 5, n::text, '\\x00', 200, CASE n WHEN 11000 THEN $1 ELSE '{}' END FROM generate_series(1, 12000) n`,
      [JSON.stringify(eligibility)],
    );
    await app.given.sql('ANALYZE changes');
    const executed = jest.spyOn(app.database, 'execute');
    const queried = jest.spyOn(app.database, 'query');
    const id = eligibility['candidate'].candidate_id;
    const { body } = await admin('POST', ofCandidate(account, id, 'erase'), { reason: 'asked for' });
    await eventually(async () => expect((await admin('GET', `jobs/${body.job_id}`)).body.state).toBe('DONE'));
    const statements = [...executed.mock.calls, ...queried.mock.calls].filter(([{ text }]) =>
      /(FROM|UPDATE) changes /.test(text),
    );
    executed.mockRestore();
    queried.mockRestore();
    expect(statements.length).toBeGreaterThanOrEqual(3);
    expect(await app.given.sql(`SELECT count(*) FROM idempotency_keys WHERE consumer_key ~ '^K\\d$'`)).toEqual([
      { count: 11_999 },
    ]);
    const fresh = new pg.Client({ connectionString: app.databaseUrl });
    await fresh.connect();
    for (const [{ text }, parameters] of statements.filter(([{ text: one }]) => !one.includes('horizon'))) {
      const { rows } = await fresh.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, parameters);
      const { Plan } = rows[0]['QUERY PLAN'][0];
      expect([text, Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'] < 200]).toEqual([text, true]);
    }
    await fresh.end();
  });

  it('export and erasure return 404 for an unknown candidate, and refuse clients with 403', async () => {
    const { account, token } = subscribed.scene;
    expect((await admin('GET', ofCandidate(account, 'nobody', 'export'))).status).toBe(404);
    expect((await admin('POST', ofCandidate(account, 'nobody', 'erase'), { reason: 'x' })).status).toBe(404);
    expect((await admin('POST', ofCandidate(account, 'nobody', 'erase'), {})).status).toBe(400);
    for (const what of ['export', 'erase'])
      expect(
        (
          await app.call(what === 'export' ? 'GET' : 'POST', `/admin/${ofCandidate(account, 'nobody', what)}`, {
            token,
            body: what === 'export' ? undefined : { reason: 'x' },
          })
        ).status,
      ).toBe(403);
  });

  it('pending import rows do not create an erased candidate again', async () => {
    const receiver = await startApp({
      databaseUrl: app.databaseUrl,
      env: { ROLES: 'api', SECRETS_KEY: app.config.secrets.keys[0].toString('base64') },
    });
    const values = planted();
    const { account, testCode, token } = subscribed.scene;
    await app.given.eligibility(subscribed.scene, { candidate: { candidate_id: values.candidate_id } });
    const second = await app.given.test(account);
    // A trigger leases each import forever, so that no worker processes it before the erasure.
    const path = `/accounts/${account}/eligibility-imports`;
    await app.given.sql(`CREATE FUNCTION keep_away() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.leased_until := 'infinity'; RETURN NEW; END $$`);
    await app.given.sql(
      'CREATE TRIGGER keep_away BEFORE UPDATE ON eligibility_imports FOR EACH ROW EXECUTE FUNCTION keep_away()',
    );
    const lines = [values.candidate_id, 'somebody-else'].map((candidate_id) =>
      JSON.stringify({ test_code: second, candidate: { candidate_id, first_name: values.import, last_name: 'L' } }),
    );
    const sent = await receiver.call('POST', path, {
      token,
      body: `${lines.join('\n')}\n${JSON.stringify({ test_code: testCode })}`,
      headers: { 'content-type': 'application/x-ndjson' },
    });
    const erased = await admin('POST', ofCandidate(account, values.candidate_id, 'erase'), { reason: 'asked for' });
    await eventually(async () => expect((await admin('GET', `jobs/${erased.body.job_id}`)).body.state).toBe('DONE'));
    await app.given.sql('DROP TRIGGER keep_away ON eligibility_imports');
    await app.given.sql('UPDATE eligibility_imports SET leased_until = NULL');
    await eventually(async () => {
      const { body } = await app.call('GET', `${path}/${sent.body.import_id}`, { token });
      expect(body).toMatchObject({ state: 'DONE', created: 1, refused: 2 });
    });
    const report = await app.call('GET', `${path}/${sent.body.import_id}/report`, { token });
    expect(report.text).toContain('1,REFUSED,candidate_erased,');
    expect(await whereIs([values.candidate_id])).toEqual([]);
    await receiver.close();
  });
});

describe('the retention of an account', () => {
  let app: TestApp;

  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());

  it('PUT of an account changes only the retention periods in the body, and GET returns all of them', async () => {
    const operator = await app.given.operator();
    const account = await app.given.account();
    const path = `/admin/accounts/${account}`;
    const put = (body: object) => app.call('PUT', path, { token: operator, body });
    expect((await put({ name: 'Board', photo_retention_days: 30 })).body).toMatchObject({
      name: 'Board',
      photo_retention_days: 30,
      video_retention_days: null,
      candidate_retention_days: null,
    });
    expect((await put({ candidate_retention_days: 400 })).body).toMatchObject({
      name: 'Board',
      photo_retention_days: 30,
    });
    expect((await put({ photo_retention_days: null })).body).toMatchObject({ photo_retention_days: null });
    expect((await app.call('GET', path, { token: operator })).body).toMatchObject({ candidate_retention_days: 400 });
    expect((await put({ photo_retention_days: 0 })).status).toBe(400);
    expect((await app.call('PUT', '/admin/accounts/NOBODY', { token: operator, body: { name: 'x' } })).body.code).toBe(
      'account_not_found',
    );
  });

  it('the retention sweep deletes only photos, video links and candidates whose retention has ended', async () => {
    const operator = await app.given.operator();
    const scene = await app.given.scene();
    const old = await app.given.eligibility(scene, { candidate: { candidate_id: 'old' } });
    const young = await app.given.eligibility(scene, { candidate: { candidate_id: 'young' } });
    const live = await app.given.eligibility(scene, { candidate: { candidate_id: 'live' } });
    for (const { svc_eligiblity_id } of [old, young])
      await app.call('POST', '/registrations/registration/results', {
        token: scene.token,
        body: {
          examMetaData: { examCode: svc_eligiblity_id },
          userPhotoBase64String: 'AAAA',
          videoReviewLink: 'https://video.example/1',
        },
      });
    const ago = new Date(Date.now() - 40 * 86_400_000);
    await app.given.sql('UPDATE eligibilities SET updated_datetime = $1 WHERE svc_eligiblity_id = ANY ($2)', [
      ago,
      [old['svc_eligiblity_id'], live['svc_eligiblity_id']],
    ]);
    await app.given.sql('UPDATE result_revisions SET received_datetime = $1 WHERE svc_eligiblity_id = $2', [
      ago,
      old['svc_eligiblity_id'],
    ]);
    await app.call('PUT', `/admin/accounts/${scene.account}`, {
      token: operator,
      body: { photo_retention_days: 30 },
    });
    // Creates so many newer records that one statement cannot read them all. The newer records come first in the sort
    // order, and the sweep must nevertheless find the expired records.
    await app.given.records(5100, scene, {
      candidate_id: `'0-' || n`,
      status: `'COMPLETED'`,
      first_name: `'Recent'`,
    });
    const media = () =>
      app.given.sql(
        `SELECT svc_eligiblity_id AS id, photo IS NOT NULL AS photo, video_link IS NOT NULL AS link FROM result_revisions
         WHERE account_code = $1 ORDER BY received_datetime`,
        [scene.account],
      );
    await app.app.get(RetentionSweep).run();
    expect(await media()).toEqual([
      { id: old['svc_eligiblity_id'], photo: false, link: true },
      { id: young['svc_eligiblity_id'], photo: true, link: true },
    ]);
    await app.call('PUT', `/admin/accounts/${scene.account}`, {
      token: operator,
      body: { video_retention_days: 30, candidate_retention_days: 30 },
    });
    await app.app.get(RetentionSweep).run();
    expect((await media())[0]).toMatchObject({ photo: false, link: false });
    const names = await app.given.sql(
      `SELECT svc_eligiblity_id AS id, first_name FROM eligibilities WHERE account_code = $1 AND first_name <> 'Recent' ORDER BY position`,
      [scene.account],
    );
    expect(names).toEqual([
      { id: old['svc_eligiblity_id'], first_name: 'erased' },
      { id: young['svc_eligiblity_id'], first_name: 'Ada' },
      { id: live['svc_eligiblity_id'], first_name: 'Ada' },
    ]);
    await app.given.sql(`DELETE FROM eligibilities WHERE first_name = 'Recent'`);
  });

  it('deletes the photos and video links of unmatched results at the end of their retention', async () => {
    const operator = await app.given.operator();
    const scene = await app.given.scene();
    const other = await app.given.scene();
    for (const { token } of [scene, other])
      await app.call('POST', '/registrations/registration/results', {
        token,
        body: {
          examMetaData: { examCode: app.given.unique('NOBODY') },
          userPhotoBase64String: 'AAAA',
          videoReviewLink: 'https://video.example/1',
        },
      });
    const days = { photo_retention_days: 7, video_retention_days: 14 };
    await app.call('PUT', `/admin/accounts/${scene.account}`, { token: operator, body: days });
    const held = () =>
      app.given.sql(
        `SELECT photo IS NOT NULL AS photo, video_link IS NOT NULL AS link FROM unmatched_results
         WHERE account_codes && $1 ORDER BY account_codes @> ARRAY[$2]`,
        [[scene.account, other.account], scene.account],
      );
    const clock = jest.spyOn(app.app.get(Clock), 'now');
    const after = async (advanced: number) => {
      clock.mockReturnValue(new Date(Date.now() + advanced * 86_400_000));
      await app.app.get(RetentionSweep).run();
      return held();
    };
    const others = { photo: true, link: true };
    try {
      expect(await after(6)).toEqual([others, { photo: true, link: true }]);
      expect(await after(8)).toEqual([others, { photo: false, link: true }]);
      expect(await after(15)).toEqual([others, { photo: false, link: false }]);
    } finally {
      clock.mockRestore();
    }
  });

  it('every ten minutes, the service deletes data whose retention has ended', async () => {
    const operator = await app.given.operator();
    const scene = await app.given.scene();
    const eligibility = await app.given.eligibility(scene);
    const { status } = await app.call('POST', '/registrations/registration/results', {
      token: scene.token,
      body: {
        examMetaData: { examCode: eligibility['svc_eligiblity_id'] },
        userPhotoBase64String: Buffer.from('a photo').toString('base64'),
      },
    });
    expect(status).toBe(200);
    const days = { photo_retention_days: 30, candidate_retention_days: 60 };
    await app.call('PUT', `/admin/accounts/${scene.account}`, { token: operator, body: days });
    const sweep = app.app.get(RetentionSweep);
    const held = async () => {
      const [row] = await app.given.sql(
        `SELECT photo IS NOT NULL AS photo, first_name FROM result_revisions JOIN eligibilities USING (svc_eligiblity_id)
         WHERE eligibilities.account_code = $1`,
        [scene.account],
      );
      return [row['photo'], row['first_name']];
    };
    const clock = jest.spyOn(app.app.get(Clock), 'now');
    const after = async (advanced: number) => {
      clock.mockReturnValue(new Date(Date.now() + advanced * 86_400_000));
      await sweep.poll();
      return held();
    };
    try {
      expect(await after(29)).toEqual([true, 'Ada']);
      expect(await after(31)).toEqual([false, 'Ada']);
      expect(await after(61)).toEqual([false, 'erased']);
    } finally {
      clock.mockRestore();
    }
  });
});
