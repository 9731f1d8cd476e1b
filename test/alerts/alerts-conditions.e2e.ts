import { Alerted } from '../support/alerted';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { MailServer, type ReceivedMail } from '../support/mail-server';
import { Polling } from '../support/polling';
import { Subscribed } from '../support/subscribed';

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

let mail: MailServer;
let app: TestApp;
let alerted: Alerted;
const started: Subscribed[] = [];

beforeAll(async () => {
  mail = await MailServer.start();
  app = await startApp({ env: { SANDBOX: 'true', ...mail.settings } });
  alerted = new Alerted(app, mail);
});
afterAll(async () => {
  for (const subscribed of started) await subscribed.stop();
  await app.close();
  await mail.stop();
});

async function partner(name: string): Promise<Subscribed> {
  const subscribed = await Subscribed.start(app, { name });
  started.push(subscribed);
  return subscribed;
}

/** Waits until a recipient has received the n-th mail, and returns this mail. */
async function arrived(recipient: string, n = 1): Promise<ReceivedMail> {
  return eventually(() => {
    const mails = alerted.to(recipient);
    if (mails.length >= n) return mails[n - 1];
    throw new Error(`${recipient} has ${mails.length} of ${n} mails.`);
  }, 30_000);
}

async function now(): Promise<number> {
  const token = await app.given.operator();
  return Date.parse((await app.call('GET', '/sandbox/clock', { token })).body.now);
}

test('an alert reports that a partner is down, that it recovered, and that it is down again', async () => {
  const subscribed = await partner('State Board');
  const { account } = subscribed.scene;
  const to = await alerted.watch(account, ['PARTNER_DOWN', 'PARTNER_RECOVERED']);
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  const down = await arrived(to);
  expect(down.headers['subject']).toBe('The partner State Board is down');
  expect(down.text).toContain(`Account: Board ${account} (${account}).`);
  expect(down.text).toMatch(/Since: \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
  expect(down.text).toContain(`${app.url}/console/partners/${subscribed.id}`);
  subscribed.partner.answer({ status: 200 });
  expect((await arrived(to, 2)).headers['subject']).toBe('The partner State Board accepts notifications again');
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  expect((await arrived(to, 3)).headers['subject']).toBe('The partner State Board is down');
});

test('an alert reports the first failure of a partner, even after many successes, and the first failure after a recovery', async () => {
  const subscribed = await partner('Failing Board');
  const to = await alerted.watch(subscribed.scene.account, ['PARTNER_FAILING', 'PARTNER_RECOVERED']);
  await subscribed.booking();
  await subscribed.booking();
  await subscribed.partner.received(2);
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking();
  await subscribed.booking();
  const failed = await arrived(to);
  expect(failed.headers['subject']).toBe('A notification to the partner Failing Board failed');
  expect(failed.text).toContain(`/console/queue?subscription_id=${subscribed.id}`);
  subscribed.partner.answer({ status: 200 });
  await subscribed.booking();
  expect((await arrived(to, 2)).headers['subject']).toContain('accepts notifications again');
  subscribed.partner.answer({ status: 404 });
  await subscribed.booking();
  await arrived(to, 3);
  expect(alerted.to(to)).toHaveLength(3);
});

test('an alert names a partner by the id of its subscription if the partner has neither a name nor an address', async () => {
  const polling = await Polling.start(app);
  const { subscribed } = polling;
  started.push(subscribed);
  const nameless = await subscribed.patch({ partner_url: null });
  expect(nameless.body).toMatchObject({ name: null, partner_url: null });
  const to = await alerted.watch(subscribed.scene.account, ['PARTNER_FAILING']);
  await subscribed.booking();
  const { notifications } = await polling.poll();
  await polling.poll({ refuse: [{ id: notifications[0].id, reason: 'OTHER' }] });
  expect((await arrived(to)).headers['subject']).toBe(`A notification to the partner ${subscribed.id} failed`);
});

test('an alert reports a failure and an outage of a partner that began and ended between two checks, and then the recovery', async () => {
  const subscribed = await partner('Brief Board');
  const { account } = subscribed.scene;
  const failing = await alerted.watch(account, ['PARTNER_FAILING', 'PARTNER_RECOVERED'], { quiet_s: 900 });
  const down = await alerted.watch(account, ['PARTNER_DOWN', 'PARTNER_RECOVERED']);
  // The test holds the lock that every check of the alert conditions needs, so no check runs in the meantime.
  const client = await app.database.pool.connect();
  try {
    await client.query(`SELECT pg_advisory_lock(hashtext('alerts'))`);
    await subscribed.booking();
    subscribed.partner.answer((_request, index) => ({ status: index === 1 ? 400 : 200 }));
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
    await subscribed.booking();
    await subscribed.partner.received(3);
    await client.query(`SELECT pg_advisory_unlock(hashtext('alerts'))`);
    await arrived(failing, 2);
    expect(alerted.to(failing).map(({ headers }) => headers['subject'])).toEqual([
      'A notification to the partner Brief Board failed',
      'The partner Brief Board accepts notifications again',
    ]);
    expect(alerted.to(down)).toEqual([]);
    await client.query(`SELECT pg_advisory_lock(hashtext('alerts'))`);
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.subscription()).toMatchObject({ health: 'DOWN' }));
    subscribed.partner.answer({ status: 200 });
    const [waiting] = await subscribed.queue('&retry=AUTO');
    await subscribed.admin('POST', `error-queue/${waiting['id']}/resend`);
    await eventually(async () => expect(await subscribed.subscription()).toMatchObject({ health: 'UP' }));
  } finally {
    await client.query(`SELECT pg_advisory_unlock_all()`);
    client.release();
  }
  await arrived(down, 2);
  expect(alerted.to(down).map(({ headers }) => headers['subject'])).toEqual([
    'The partner Brief Board was down',
    'The partner Brief Board accepts notifications again',
  ]);
  // The partner fails for the second time within `quiet_s`, so the alert reports neither this failure nor the recovery
  // from it.
  expect(alerted.to(failing)).toHaveLength(2);
});

test("an alert reports an undelivered notification whose exam starts within 2 hours, without the candidate's name", async () => {
  const subscribed = await partner('Late Board');
  const to = await alerted.watch(subscribed.scene.account, ['EXAM_SOON_UNDELIVERED']);
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking({ booking_on: dateTime((await now()) + 5 * HOUR_S * 1000) });
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  await alerted.advance(2 * HOUR_S);
  expect(alerted.to(to)).toEqual([]);
  await alerted.advance(1.5 * HOUR_S);
  const { headers, text, html } = await arrived(to);
  expect(headers['subject']).toBe(
    'The partner Late Board has not received 1 notification of exams that start within 2 hours',
  );
  expect(text).toMatch(/The first of these exams starts at \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
  expect(text + html).not.toMatch(/Ada|Lovelace|C-\d/);
});

test('an alert reports results that have been unmatched for an hour', async () => {
  const scene = await app.given.scene();
  const to = await alerted.watch(scene.account, ['UNMATCHED_RESULTS']);
  const token = await app.given.token([scene.account], ['results']);
  const answer = await app.call('PUT', `/accounts/${scene.account}`, {
    token,
    body: { candidate_id: 'Nobody-at-all', result: 'PASS' },
  });
  expect(answer.status).toBe(400);
  await alerted.advance(0.9 * HOUR_S);
  expect(alerted.to(to)).toEqual([]);
  await alerted.advance(0.2 * HOUR_S);
  const { headers, text } = await arrived(to);
  expect(headers['subject']).toBe('1 result could not be matched to an exam for more than 1 hour');
  expect(text).toContain(`${app.url}/console/work/unmatched`);
  expect(text).not.toContain('Nobody-at-all');
});

test('an alert reports accommodations that have waited for approval for more than a day', async () => {
  const scene = await app.given.scene();
  const to = await alerted.watch(scene.account, ['APPROVALS_WAITING']);
  const accommodation = await app.given.accommodation(scene.account, true);
  await app.given.eligibility(scene, { candidate: { special_accommodations: [accommodation] } });
  await alerted.advance(0.9 * DAY_S);
  expect(alerted.to(to)).toEqual([]);
  await alerted.advance(0.2 * DAY_S);
  const { headers, text } = await arrived(to);
  expect(headers['subject']).toBe('1 eligibility waits for the approval of accommodations for more than a day');
  expect(text).toContain(`${app.url}/console/work/approvals`);
});

test('an alert reports the expiry of a certificate 14, 3 and 1 days in advance', async () => {
  const subscribed = await partner('Certified Board');
  const to = await alerted.watch(subscribed.scene.account, ['CERTIFICATE_EXPIRING']);
  const statistics = await subscribed.admin('GET', `subscriptions/${subscribed.id}/statistics`);
  const end = Date.parse(statistics.body.certificate_not_after);
  // The service sends no requests to a partner that polls, so no alert reports that the partner's certificate expires.
  const polls = { account_code: subscribed.scene.account, delivery: 'POLL' };
  const { body: polled } = await subscribed.admin('POST', 'subscriptions', polls);
  await app.given.sql('UPDATE subscriptions SET certificate_not_after = $2 WHERE id = $1', [polled.id, new Date(end)]);
  const until = async (days: number) => alerted.advance(Math.floor((end - (await now())) / 1000) - days * DAY_S);
  await until(14.1);
  expect(alerted.to(to)).toEqual([]);
  await until(13.9);
  const { headers, text } = await arrived(to);
  expect(headers['subject']).toMatch(/^A certificate for the partner Certified Board expires at \d{4}-/);
  expect(text).toContain('the certificate of the partner');
  await until(2.9);
  await arrived(to, 2);
  await until(0.9);
  await arrived(to, 3);
  expect(alerted.to(to)).toHaveLength(3);
});

test('an alert reports that a row of the audit log was changed', async () => {
  await eventually(async () => expect(await app.given.sql('SELECT FROM audit_seals')).not.toEqual([]), 15_000);
  for (const statement of [
    'ALTER TABLE audit_log DISABLE TRIGGER USER',
    `UPDATE audit_log SET actor = 'nobody' WHERE id = (SELECT max(through) FROM audit_seals)`,
    'ALTER TABLE audit_log ENABLE TRIGGER USER',
  ])
    await app.given.sql(statement);
  const to = await alerted.watch(await app.given.account(), ['AUDIT_BROKEN']);
  const { headers, text } = await arrived(to);
  expect(headers['subject']).toBe('The audit log does not agree with its seals');
  expect(text).toMatch(/from row \d+ on: the row was changed/);
  expect(text).toContain(`${app.url}/console/audit`);
});

test('an alert reports that the delivery of notifications has stalled for half a minute', async () => {
  const subscribed = await partner('Stalled Board');
  const to = await alerted.watch(subscribed.scene.account, ['DELIVERY_STALLED']);
  // The first constraint prevents the service from creating notifications for the event. After this failure, the
  // service would mark the event and skip it from then on. The second constraint prevents the mark.
  await app.given.sql('ALTER TABLE notifications ADD CONSTRAINT nothing_fits CHECK (false) NOT VALID');
  await app.given.sql('ALTER TABLE domain_events ADD CONSTRAINT none_aside CHECK (set_aside_at IS NULL)');
  await subscribed.booking();
  await alerted.advance(120);
  const seen = await eventually(async () => {
    const [row] = await app.given.sql(
      `UPDATE alert_occurrences SET seen_datetime = seen_datetime - interval '1 minute'
       WHERE condition = 'DELIVERY_STALLED' AND is_current RETURNING told_datetime`,
    );
    return row;
  }, 15_000);
  expect(seen).toEqual({ told_datetime: null });
  expect((await arrived(to)).headers['subject']).toBe('The service does not send notifications that are due');
});
