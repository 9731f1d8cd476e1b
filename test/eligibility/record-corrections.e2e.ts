import { startApp, type TestApp } from '../support/app';
import { dataFolder, ServiceProcess } from '../support/process';
import { accountBody, Deliveries, registrationBody } from '../support/deliveries';
import { Clock } from '../../src/platform/clock';

let app: TestApp;
let operator: string;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
});

type Made = Record<string, any>;

const call = (method: string, path: string, body?: unknown, token = scene.token) =>
  app.call(method, path, { token, body });
const candidateOf = (record: Made) => `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}`;
const testOf = (record: Made) => `${candidateOf(record)}/tests/${record['test_code']}`;
const endAt = (record: Made, end: Date) =>
  app.given.sql('UPDATE eligibilities SET eligibility_end_date = $2 WHERE svc_eligiblity_id = $1', [
    record['svc_eligiblity_id'],
    end,
  ]);
const past = () => new Date(Math.floor(Date.now() / 1000) * 1000 - 2000);

describe('bookings of a candidate', () => {
  it("a candidate's bookings are listed newest first, and can be filtered by status and test", async () => {
    const record = await app.given.eligibility(scene);
    const first = await app.given.booking(scene, record);
    await call('DELETE', `/accounts/${scene.account}/bookings/${first['booking_code']}`);
    const second = await app.given.booking(scene, record);
    const path = `${candidateOf(record)}/bookings`;
    const codes = async (query = '') =>
      ((await call('GET', path + query)).body as Made[]).map((booking) => booking['booking_code'] as string);
    expect(await codes()).toEqual([second['booking_code'], first['booking_code']]);
    expect(await codes('?status=booked')).toEqual([second['booking_code']]);
    expect(await codes('?status=CANCELLED')).toEqual([first['booking_code']]);
    expect(await codes(`?test_code=${scene.testCode}`)).toHaveLength(2);
    expect(await codes('?test_code=OTHER')).toEqual([]);
    expect((await call('GET', path)).body[0]).toEqual(second);
    expect((await call('GET', `${path}?status=LOST`)).body.errors).toEqual([
      expect.objectContaining({ parameter: 'status', code: 'status_invalid' }),
    ]);
  });

  it('the list of bookings answers 404 for an unknown candidate, and is empty for a candidate without bookings', async () => {
    const answer = await call('GET', `/accounts/${scene.account}/candidates/nobody/bookings`);
    expect([answer.status, answer.body.code]).toEqual([404, 'candidate_not_found']);
    const record = await app.given.eligibility(scene);
    expect((await call('GET', `${candidateOf(record)}/bookings`)).body).toEqual([]);
  });

  it('listing bookings requires the `bookings` scope', async () => {
    const token = await app.given.token([scene.account], ['read']);
    expect((await call('GET', `/accounts/${scene.account}/candidates/x/bookings`, undefined, token)).status).toBe(403);
  });
});

it('a second booking of a record is refused with the code of the open booking', async () => {
  const record = await app.given.eligibility(scene);
  const booking = await app.given.booking(scene, record);
  const { booking_on, location_timezone } = booking;
  const delivery_mode = 'SVC_REMOTE_PROCTORED';
  const answer = await call('POST', `${testOf(record)}/bookings`, { booking_on, delivery_mode, location_timezone });
  expect([answer.status, answer.body.code, answer.body.booking_code]).toEqual([
    403,
    'not_eligible_to_schedule',
    booking['booking_code'],
  ]);
});

describe('vouchers', () => {
  it('GET …/vouchers returns the voucher codes of a record, and PUT on the same route sets them', async () => {
    const codes = [await app.given.voucher(scene.account), await app.given.voucher(scene.account)].sort();
    const record = await app.given.eligibility(scene, { voucher_codes: codes });
    expect((await call('GET', `${testOf(record)}/vouchers`)).body).toEqual({ voucher_codes: codes });
    await call('PUT', `${testOf(record)}/vouchers`, []);
    expect((await call('GET', `${testOf(record)}/vouchers`)).body).toEqual({ voucher_codes: [] });
    const other = await call('GET', `${candidateOf(record)}/tests/OTHER/vouchers`);
    expect([other.status, other.body.code]).toEqual([404, 'eligibility_not_found']);
  });

  it.each([true, false])(
    "an expired record's voucher is released when a new record is created (the new record reuses the voucher: %s)",
    async (asks) => {
      const voucher = await app.given.voucher(scene.account, { max_uses: 1 });
      const { candidate } = await app.given
        .eligibility(scene, { voucher_codes: [voucher] })
        .then(async (record) => (await endAt(record, past()), record));
      await app.given.eligibility(scene, { candidate, ...(asks ? { voucher_codes: [voucher] } : {}) });
      const [{ uses }] = await app.given.sql('SELECT uses FROM vouchers WHERE voucher_code = $1', [voucher]);
      expect(uses).toBe(asks ? 1 : 0);
    },
  );

  it('the vouchers of an expired record stay redeemed when the record that would replace it is refused', async () => {
    const voucher = await app.given.voucher(scene.account, { max_uses: 1 });
    const record = await app.given.eligibility(scene, { voucher_codes: [voucher] });
    await endAt(record, past());
    const body = app.given.eligibilityBody(scene.testCode, {
      candidate: record['candidate'],
      voucher_codes: [voucher, 'unknown'],
    });
    expect((await call('POST', `/accounts/${scene.account}/candidates`, body)).status).toBe(400);
    const [{ uses }] = await app.given.sql('SELECT uses FROM vouchers WHERE voucher_code = $1', [voucher]);
    expect(uses).toBe(1);
  });

  it.each([
    [{ discount_value: 5 }, 'required', '/currency'],
    [{ discount_value: 5, currency: 'XXX' }, 'currency_invalid', '/currency'],
    [{ discount_value: 5, currency: 'XAU' }, 'currency_invalid', '/currency'],
    [{ discount_value: 5.12, currency: 'JPY' }, 'too_many_decimals', '/discount_value'],
    [{ discount_value: 5.12, currency: 'EUR' }, null, null],
    [{ discount_value: 512, currency: 'xof' }, null, null],
  ])('an AMOUNT voucher with the members %j gets the fault %s', async (members, code, pointer) => {
    const path = `/admin/accounts/${scene.account}/vouchers/V-1`;
    const answer = await call('PUT', path, { discount_type: 'AMOUNT', ...members }, operator);
    expect(answer.body.errors ?? []).toEqual(code === null ? [] : [expect.objectContaining({ code, pointer })]);
    expect(answer.status).toBe(code === null ? 200 : 400);
  });
});

describe('a result that was refused and later accepted', () => {
  const unmatched = async () => (await new Deliveries(app).unmatched(operator)).body as Made[];

  it.each(['REGISTRATION', 'ACCOUNT'])(
    'a refused result is removed from the unmatched results when the same result is sent again and accepted: %s',
    async (source) => {
      const deliveries = new Deliveries(app);
      const candidateId = app.given.unique('late-');
      const clientId = app.given.unique('ce-');
      const send = () =>
        source === 'ACCOUNT'
          ? deliveries.put(scene, accountBody(candidateId))
          : deliveries.register(scene.token, registrationBody({ examMetaData: { examCode: clientId } }));
      expect((await send()).status).toBe(400);
      const [{ id }] = await unmatched();
      const record = await app.given.eligibility(scene, {
        client_eligibility_id: clientId,
        candidate: { candidate_id: candidateId },
      });
      expect((await send()).status).toBe(200);
      expect((await unmatched()).map((row) => row['id'])).not.toContain(id);
      expect((await call('GET', `/admin/unmatched-results/${id}`, undefined, operator)).body).toMatchObject({
        settled_by: 'MATCHED',
        svc_eligiblity_id: record['svc_eligiblity_id'],
      });
      const other = await app.given.eligibility(scene);
      const body = { svc_eligiblity_id: other['svc_eligiblity_id'] };
      expect((await call('POST', `/admin/unmatched-results/${id}/accept`, body, operator)).status).toBe(409);
      expect((await call('GET', testOf(other))).body[0].status).toBe('ELIGIBLE');
    },
  );
});

it('redeeming a launch link writes an audit row', async () => {
  const record = await app.given.eligibility(scene);
  const info = await call('GET', `/eligibilities/${record['svc_eligiblity_id']}/testLaunchInfo`);
  const path = new URL(info.body.launch_url as string).pathname;
  expect((await app.call('GET', path)).status).toBe(303);
  expect((await app.call('GET', path)).status).toBe(410);
  const rows = await app.given.sql(`SELECT 1 FROM audit_log WHERE subject = $1 AND action = 'launch.redeem'`, [
    record['svc_eligiblity_id'],
  ]);
  expect(rows).toHaveLength(1);
});

it('a date in the year 1 is stored unchanged by a process whose time zone is not UTC', async () => {
  const folder = dataFolder();
  const service = await ServiceProcess.start(folder.path, { TZ: 'America/New_York' });
  try {
    const { sandbox } = service;
    const token = await service.token(sandbox.client);
    const testCode = sandbox.tests.find(({ portions }) => portions.length === 1)!.test_code;
    const body = app.given.eligibilityBody(testCode);
    const base = `/accounts/${sandbox.account_code}/candidates`;
    expect((await service.call(token, 'POST', base, body)).status).toBe(200);
    const path = `${base}/${body['candidate'].candidate_id}/tests/${testCode}`;
    const changed = { ...body, schedule_start_date: '0001-01-01T00:00:00Z' };
    expect((await service.call(token, 'PUT', path, changed)).status).toBe(204);
    expect((await service.call(token, 'GET', path)).body[0].schedule_start_date).toBe('0001-01-01T00:00:00Z');
  } finally {
    await service.stop();
    folder.remove();
  }
}, 180_000);

describe('a record that expires while it is being read', () => {
  it('a record that expires while it is being read is returned with the status by which the filter selected it', async () => {
    const record = await app.given.eligibility(scene);
    const end = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000);
    await endAt(record, end);
    let asked = 0;
    // The record's window ends between the first and the second time at which the service reads the clock.
    const clock = jest
      .spyOn(app.app.get(Clock), 'now')
      .mockImplementation(() => new Date(end.getTime() - 500 + 1000 * Math.min(asked++, 1)));
    const shown: string[] = [];
    for (const path of [
      `/accounts/${scene.account}/eligibilities?status=active`,
      `${candidateOf(record)}/eligibilities?status=active`,
    ]) {
      asked = 0;
      shown.push(...((await call('GET', path)).body as Made[]).map((row) => row['status'] as string));
    }
    clock.mockRestore();
    expect(shown.filter((status) => status === 'EXPIRED')).toEqual([]);
  });
});

describe('the filter updated_since', () => {
  it('the updated_since filter finds an expired record by its expiry time, even if a new record replaced it or was refused', async () => {
    const since = new Date(Date.now() - 1000).toISOString().slice(0, 19) + 'Z';
    const ids = async () =>
      (
        (await call('GET', `/accounts/${scene.account}/eligibilities?updated_since=${since}&status=EXPIRED`))
          .body as Made[]
      )
        .map((row) => row['svc_eligiblity_id'] as string)
        .sort();
    const [replaced, refused] = [await app.given.eligibility(scene), await app.given.eligibility(scene)];
    for (const record of [replaced, refused])
      await app.given.sql(
        `UPDATE eligibilities SET updated_datetime = '2020-01-01Z', eligibility_end_date = $2 WHERE svc_eligiblity_id = $1`,
        [record['svc_eligiblity_id'], new Date(Math.floor(Date.now() / 1000) * 1000)],
      );
    const expected = [replaced, refused].map((row) => row['svc_eligiblity_id'] as string).sort();
    expect(await ids()).toEqual(expected);
    await app.given.eligibility(scene, { candidate: replaced['candidate'] });
    const body = app.given.eligibilityBody(scene.testCode, {
      candidate: refused['candidate'],
      voucher_codes: ['unknown'],
    });
    expect((await call('POST', `/accounts/${scene.account}/candidates`, body)).status).toBe(400);
    expect(await ids()).toEqual(expected);
  });
});
