import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { siteBooking } from '../support/given';
import { Subscribed } from '../support/subscribed';
import { testSentences } from './sentences';

const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let app: TestApp;
let to: Subscribed;
/**
 * The bodies of the notifications about two events: one event of a booking at a site, and one event of a remote
 * booking.
 */
let site: Record<string, any>;
let remote: Record<string, any>;
beforeAll(async () => {
  app = await startApp({ env: { NOTIFICATION_WAIT_MS: '1000' } });
  to = await Subscribed.start(app, { wait_ms: 1000 });
  const candidate = { middle_name: 'King' };
  const client_eligibility_id = 'EL-1';
  const record = await app.given.eligibility(to.scene, { candidate, client_eligibility_id });
  const { booking_code } = await app.given.booking(to.scene, record);
  [{ json: site }] = await to.partner.receivedFor(booking_code as string, 1);
  const mode = { delivery_mode: 'SVC_REMOTE_PROCTORED', location_timezone: 'Europe/Berlin' };
  const noSite = { location_code: null, location_name: null, location_address: null };
  const code = await to.booking({ ...mode, ...noSite });
  [{ json: remote }] = await to.partner.receivedFor(code, 1);
});
afterAll(async () => {
  await to?.partner.stop();
  await app.close();
});

async function notificationOf(code: string, state: string): Promise<Record<string, any>> {
  let found: Record<string, any> | undefined;
  await eventually(async () => {
    [found] = (await to.get(`/admin/notifications?booking_code=${code}&state=${state}`)).body;
    return found !== undefined;
  }, 10_000);
  return (await to.get(`/admin/notifications/${found!['id']}`)).body;
}
async function failing(status: number): Promise<Record<string, any>> {
  to.partner.answer({ status });
  return notificationOf(await to.booking(), 'ERROR_QUEUE');
}
afterEach(async () => {
  to.partner.answer({ status: 200 });
  await eventually(async () => (await to.subscription())['health'] === 'UP', 10_000);
});
const of = (code: string, action: 'GET' | 'PUT' | 'DELETE' | 'POST', more = '', body?: object) =>
  app.call(action, `/accounts/${to.scene.account}/bookings/${code}${more}`, { token: to.scene.token, body });
const reasons = async (code: string, n: number) =>
  (await to.partner.receivedFor(code, n)).map(({ json }) => json.change_reason as string);
const text = (body: () => Record<string, any>, name: string, value: unknown) => () => {
  expect(body()[name]).toEqual(value);
  return Promise.resolve();
};
const siteOnly = (name: string) => () => {
  expect([site[name], name in remote]).toEqual([(siteBooking() as any)[name], false]);
  return Promise.resolve();
};

describe('the delivery of events', () =>
  testSentences({
    '1.4': async () => {
      const [request] = await to.partner.receivedFor(await to.booking(), 1);
      expect([request.method, request.path, request.headers['content-type']]).toEqual([
        'PUT',
        '/notifications',
        'application/json',
      ]);
    },
    '7.1': async () => {
      const [{ json }] = await to.partner.receivedFor(await to.booking(), 1);
      expect(json.effective_date).toMatch(DATE);
    },
    '7.2': async () => {
      const { http_status, failure } = await notificationOf(await to.booking(), 'DELIVERED');
      expect([http_status, failure]).toEqual([200, null]);
    },
    '7.3': async () => {
      for (const status of [201, 204, 302, 404]) expect((await failing(status))['http_status']).toBe(status);
    },
    '7.4': async () => {
      to.partner.answer(() => new Promise((resolve) => setTimeout(() => resolve({ status: 200 }), 2500)));
      expect((await notificationOf(await to.booking(), 'ERROR_QUEUE'))['failure']).toBe('timeout');
    },
    '7.5': async () => {
      const { id, retry, booking_code } = await failing(404);
      expect(retry).toBe('MANUAL');
      to.partner.answer({ status: 200 });
      expect((await to.admin('POST', `error-queue/${id}/resend`, {})).status).toBe(202);
      await notificationOf(booking_code as string, 'DELIVERED');
    },
    '10.9': async () => {
      const body = { account_code: to.scene.account, partner_url: to.partner.url.replace('https', 'http') };
      expect((await to.admin('POST', 'subscriptions', body)).status).toBe(400);
      const untrusted = { ...body, partner_url: to.partner.url };
      const { id } = (await to.admin('POST', 'subscriptions', untrusted)).body;
      const verified = await to.admin('POST', `subscriptions/${id}/verify`);
      expect([verified.body.code, verified.body.failure]).toEqual(['verification_failed', 'tls']);
    },
    '10.10': async () => {
      await to.patch({ auth: { type: 'basic', username: 'svc', password: 'word' } });
      const [{ headers }] = await to.partner.receivedFor(await to.booking(), 1);
      expect(headers['authorization']).toBe(`Basic ${Buffer.from('svc:word').toString('base64')}`);
    },
    '11.1': async () => {
      const states = [(await failing(202))['state'], (await notificationOf(await quiet(), 'DELIVERED'))['state']];
      expect(states).toEqual(['ERROR_QUEUE', 'DELIVERED']);
    },
    '11.2': async () => {
      const code = await to.booking();
      await to.reschedule(code);
      const dates = (await to.partner.receivedFor(code, 2)).map(({ json }) => json.effective_date as string);
      expect(dates[0] < dates[1]).toBe(true);
    },
    '11.3': async () => {
      const { booking_code, retry } = await failing(500);
      expect(retry).toBe('AUTO');
      to.partner.answer({ status: 200 });
      await notificationOf(booking_code as string, 'DELIVERED');
    },
    '11.4': async () => {
      const { retry, failure, http_status } = await failing(400);
      expect([retry, failure, http_status]).toEqual(['MANUAL', 'client_error', 400]);
    },
  }));

async function quiet(): Promise<string> {
  to.partner.answer({ status: 200 });
  return to.booking();
}

describe('the kinds of events', () =>
  testSentences({
    '12.1': async () => expect(await reasons(await to.booking(), 1)).toEqual(['BOOKING_CREATED']),
    '12.2': async () => {
      const code = await to.booking();
      await of(code, 'DELETE');
      expect(await reasons(code, 2)).toEqual(['BOOKING_CREATED', 'BOOKING_CANCELLED']);
    },
    '12.3': async () => {
      const code = await to.booking();
      await to.reschedule(code);
      expect(await reasons(code, 2)).toEqual(['BOOKING_CREATED', 'BOOKING_RESCHEDULED']);
    },
    '12.4': async () => {
      const code = await to.booking();
      const { candidate_id } = (await of(code, 'GET')).body;
      await new Deliveries(app).put(to.scene, accountBody(candidate_id as string));
      expect(await reasons(code, 2)).toEqual(['BOOKING_CREATED', 'EXAM_COMPLETED']);
    },
    '12.5': async () => {
      const code = await to.booking();
      await of(code, 'POST', '/absence', { excused: true });
      expect(await reasons(code, 2)).toEqual(['BOOKING_CREATED', 'EXCUSED_ABSENT']);
    },
    '12.6': async () => {
      const code = await to.booking();
      await of(code, 'POST', '/absence', { excused: false });
      expect(await reasons(code, 2)).toEqual(['BOOKING_CREATED', 'ABSENT']);
    },
  }));

describe('the NotificationRequest', () =>
  testSentences({
    '13.1': text(() => site, 'booking_code', expect.stringMatching(/^[A-Z0-9]{10,11}$/)),
    '13.2': text(() => site, 'booking_on', expect.stringMatching(DATE)),
    '13.3': text(() => site, 'candidate_fname', 'Ada'),
    '13.4': text(() => site, 'candidate_id', expect.stringMatching(/^C-/)),
    '13.5': text(() => site, 'candidate_lname', 'Lovelace'),
    '13.6': text(() => site, 'candidate_mname', 'King'),
    '13.7': text(() => site, 'change_reason', 'BOOKING_CREATED'),
    '13.8': text(() => site, 'client_eligibility_id', 'EL-1'),
    '13.9': () => {
      expect([site['delivery_mode'], remote['delivery_mode']]).toEqual(['SITE_PROCTORED', 'SVC_REMOTE_PROCTORED']);
      return Promise.resolve();
    },
    '13.10': text(() => site, 'effective_date', expect.stringMatching(DATE)),
    '13.11': () => {
      expect(site['exam_code']).toBe(`EX-${to.scene.testCode}`);
      return Promise.resolve();
    },
    '13.12': text(() => site, 'exam_portions', [{ portion_code: 'MAIN', portion_name: 'Main' }]),
    '13.13': siteOnly('location_address'),
    '13.14': siteOnly('location_code'),
    '13.15': siteOnly('location_name'),
    '13.16': () => {
      expect([site['location_timezone'], remote['location_timezone']]).toEqual(['America/Chicago', 'Europe/Berlin']);
      return Promise.resolve();
    },
  }));
