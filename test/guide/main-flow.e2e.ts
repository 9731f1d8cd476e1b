import { EligibilityClient, type Change } from '../../clients/typescript/src/index';
import { verifySignature } from '../../clients/partner/src/index';
import { startApp, type TestApp } from '../support/app';
import { dateTime } from '../support/given';
import { startPartner, type Partner } from '../support/partner';

const PASSWORD = 'correct-zebra-9-battery-moth';
const SCOPES = ['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings'] as const;
const DAY_MS = 86_400_000;

/** Tests the main flow as users of the service would perform it, with nothing but the published packages. */
describe('the main flow with the packages of clients and partners', () => {
  let app: TestApp;
  let partner: Partner;
  let operator: string;
  let account: string;
  let test_code: string;
  let client: EligibilityClient;
  let secret: string;

  beforeAll(async () => {
    app = await startApp();
    partner = await startPartner();
    operator = await app.given.operator();
    account = await app.given.account();
    test_code = await app.given.test(account);
    const made = async (path: string, body: object) => (await app.call('POST', path, { token: operator, body })).body;
    const username = app.given.unique('board-');
    await made('/admin/users', { username, password: PASSWORD, account_codes: [account], scopes: SCOPES });
    const { consumer_key, consumer_secret } = await made('/admin/applications', { name: 'portal', scopes: SCOPES });
    client = new EligibilityClient({
      baseUrl: app.url,
      credentials: { consumerKey: consumer_key, consumerSecret: consumer_secret, username, password: PASSWORD },
    });
    const { id, signing_secret } = await made('/admin/subscriptions', {
      account_code: account,
      partner_url: partner.url,
      ca_pem: partner.caPem,
    });
    secret = signing_secret;
    expect((await made(`/admin/subscriptions/${id}/verify`, {})).state).toBe('ACTIVE');
  });
  afterAll(async () => {
    await partner?.stop();
    await app?.close();
  });

  it('the main flow works with the published packages, from eligibility and voucher to booking and result', async () => {
    const { api } = client;
    const path = { account_code: account, candidate_id: 'ADA-1', test_code };
    const ofTest = '/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}';
    const { data: record } = await api.POST('/accounts/{account_code}/candidates', {
      params: { path },
      body: {
        test_code,
        eligibility_end_date: dateTime(Date.now() + 90 * DAY_MS),
        candidate: { candidate_id: 'ADA-1', first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.org' },
      },
    });
    expect(record).toMatchObject({ status: 'ELIGIBLE', eligible_to_schedule: true, eligibility_status_message: null });
    const voucher = await app.given.voucher(account);
    await api.PUT(`${ofTest}/vouchers`, { params: { path }, body: [voucher] });
    expect((await api.GET(`${ofTest}/vouchers`, { params: { path } })).data).toEqual({ voucher_codes: [voucher] });
    const launch = await api.GET('/eligibilities/{svc_eligibility_code}/testLaunchInfo', {
      params: { path: { svc_eligibility_code: record!.svc_eligiblity_id } },
    });
    expect(launch.data).toMatchObject({ candidate_id: 'ADA-1', single_use: true });

    const appointment = { delivery_mode: 'SVC_REMOTE_PROCTORED', location_timezone: 'Europe/Paris' } as const;
    const { data: booked } = await api.POST(`${ofTest}/bookings`, {
      params: { path },
      body: { ...appointment, booking_on: dateTime(Date.now() + 7 * DAY_MS) },
    });
    const { booking_code } = booked!;
    await api.PUT('/accounts/{account_code}/bookings/{booking_code}', {
      params: { path: { account_code: account, booking_code } },
      body: { ...appointment, booking_on: dateTime(Date.now() + 8 * DAY_MS) },
    });
    await api.POST('/registrations/registration/results', {
      body: { examMetaData: { examCode: booking_code }, examProcessingStatus: 'Completed' },
    });
    await api.PUT('/accounts/{account_code}', { params: { path }, body: { candidate_id: 'ADA-1', result: 'pass' } });

    const { data: records } = await api.GET(ofTest, { params: { path } });
    expect(records).toMatchObject([{ svc_eligiblity_id: record!.svc_eligiblity_id, status: 'COMPLETED' }]);
    const { data: results } = await api.GET(`${ofTest}/results`, { params: { path } });
    expect(results!.map(({ source, revision }) => [source, revision])).toEqual([
      ['ACCOUNT', 2],
      ['REGISTRATION', 1],
    ]);

    const received = await partner.receivedFor(booking_code, 3);
    const reasons = ['BOOKING_CREATED', 'BOOKING_RESCHEDULED', 'EXAM_COMPLETED'];
    expect(received.map(({ json }) => (json as { change_reason: string }).change_reason)).toEqual(reasons);
    for (const { headers, raw } of received) expect(() => verifySignature(headers, raw, secret)).not.toThrow();

    await app.given.settled();
    const told: Change[] = [];
    for await (const { entries } of client.changes(account)) told.push(...entries);
    expect(told.map(({ change, status, event_sequence }) => [change, status, event_sequence])).toEqual([
      ['CREATED', 'ELIGIBLE', null],
      ['UPDATED', 'ELIGIBLE', null],
      ['SCHEDULED', 'SCHEDULED', 1],
      ['RESCHEDULED', 'SCHEDULED', 2],
      ['RESULT_RECEIVED', 'COMPLETED', 3],
      ['RESULT_REVISED', 'COMPLETED', null],
    ]);
    // The change feed contains each event exactly as it was sent to the partner.
    const pushed = told.flatMap(({ notification }) => (notification === null ? [] : [notification]));
    expect(pushed).toEqual(received.map(({ json }) => json));
  });

  it('the client package imports 250 records, reports progress, and lists the records immediately afterwards', async () => {
    const rows = Array.from({ length: 250 }, (_, n) => `I-${n},Grace,Hopper,${test_code}`);
    const seen: number[] = [];
    const { progress, report } = await client.import(
      account,
      ['candidate_id,first_name,last_name,test_code', ...rows].join('\n'),
      { type: 'text/csv', pollMs: 20, onProgress: ({ done }) => seen.push(done) },
    );
    expect(progress).toMatchObject({ state: 'DONE', created: 250, refused: 0 });
    expect(report.trim().split('\n')).toHaveLength(251);
    expect(seen.at(-1)).toBe(250);
    let listed = 0;
    for await (const { candidate } of client.eligibilities(account, { status: 'active' }))
      if (candidate.candidate_id.startsWith('I-')) listed += 1;
    expect(listed).toBe(250);
  });
});
