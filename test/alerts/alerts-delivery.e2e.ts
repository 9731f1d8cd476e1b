import { randomBytes } from 'node:crypto';
import { AlertSender } from '../../src/alerts/alert-sender';
import { AlertSweep } from '../../src/alerts/alert-sweep';
import { Alerted } from '../support/alerted';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { MailServer } from '../support/mail-server';
import { Subscribed } from '../support/subscribed';

const SECRETS_KEY = randomBytes(32).toString('base64');

let mail: MailServer;
let app: TestApp;
let alerted: Alerted;
let subscribed: Subscribed;
let others: TestApp[];

const start = (databaseUrl?: string) =>
  startApp({ databaseUrl, env: { SANDBOX: 'true', SECRETS_KEY, RETRY_SCHEDULE_S: '0.2', ...mail.settings } });

beforeEach(async () => {
  mail = await MailServer.start();
  app = await start();
  alerted = new Alerted(app, mail);
  subscribed = await Subscribed.start(app);
  others = [];
});
afterEach(async () => {
  await subscribed.stop();
  for (const other of others) await other.close();
  await app.close();
  await mail.stop();
});

const EMAIL = { kind: 'EMAIL', to: ['on-call@example.org'], conditions: ['PARTNER_DOWN'] };
const sweep = (of = app) => of.app.get(AlertSweep).sweep();
const send = (of = app) => of.app.get(AlertSender).poll();
const messages = async () => Number((await app.given.sql('SELECT count(*) AS n FROM alert_messages'))[0]['n']);

const health = async () =>
  (await app.given.sql('SELECT health FROM subscriptions WHERE id = $1', [subscribed.id]))[0]['health'] as string;

async function goDown(): Promise<void> {
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect(await health()).toBe('DOWN'));
}

async function recover(): Promise<void> {
  subscribed.partner.answer({ status: 200 });
  await eventually(async () => expect(await health()).toBe('UP'));
}

/**
 * Waits for two checks of the alert conditions. The first check may have read the conditions before the test changed
 * them.
 */
async function round(): Promise<void> {
  await sweep();
  await sweep();
}

test('if the mail server refuses one recipient of an alert, the others receive it once, and last_error shows the refusal', async () => {
  mail.refusedRecipient = 'gone@example.org';
  await alerted.put('on-call', { ...EMAIL, to: ['on-call@example.org', 'gone@example.org'] });
  await goDown();
  expect((await mail.received(/is down/)).recipients).toEqual(['on-call@example.org']);
  await eventually(async () =>
    expect(await alerted.get('on-call')).toMatchObject({
      waiting: 0,
      last_error: 'The mail server refused some recipients',
    }),
  );
  await recover();
  await round();
  await send();
  expect(mail.mails).toHaveLength(1);
});

test('an alert reports a lasting condition once, and again if it recurs after quiet_s seconds', async () => {
  await alerted.put('on-call', { ...EMAIL, quiet_s: 600 });
  await goDown();
  await mail.received(/is down/);
  await alerted.advance(1_000);
  await round();
  expect(await messages()).toBe(1);
  await recover();
  await round();
  await goDown();
  await eventually(() => expect(mail.mails).toHaveLength(2), 20_000);
  // The partner recovers, and fails again within `quiet_s`. The message about the second failure waits until `quiet_s`
  // is over.
  await recover();
  await round();
  await goDown();
  await round();
  expect(await messages()).toBe(2);
  await alerted.advance(601);
  await eventually(() => expect(mail.mails).toHaveLength(3), 20_000);
  expect(await alerted.get('on-call')).toMatchObject({ waiting: 0, last_error: null });
});

test('an alert never reports a condition that begins and ends within quiet_s seconds of the last report', async () => {
  await alerted.put('on-call', { ...EMAIL, quiet_s: 600 });
  await goDown();
  await mail.received(/is down/);
  await recover();
  await round();
  await goDown();
  await round();
  await recover();
  await round();
  await alerted.advance(601);
  await round();
  expect(await messages()).toBe(1);
});

test('an alert reports only the conditions and the accounts that an operator chose for it', async () => {
  const other = await app.given.account();
  await alerted.put('other account', { ...EMAIL, to: ['other@example.org'], account_codes: [other] });
  await alerted.put('other condition', { ...EMAIL, to: ['other@example.org'], conditions: ['AUDIT_BROKEN'] });
  await alerted.put('disabled', { ...EMAIL, to: ['other@example.org'], disabled: true });
  await alerted.put('of account', { ...EMAIL, account_codes: [other, subscribed.scene.account] });
  await goDown();
  expect((await mail.received(/is down/)).recipients).toEqual(['on-call@example.org']);
  await round();
  expect(mail.mails).toHaveLength(1);
  // When an alert is enabled again, it reports a condition that still holds.
  await alerted.put('disabled', { ...EMAIL, to: ['late@example.org'] });
  await eventually(() => expect(alerted.to('late@example.org')).toHaveLength(1), 20_000);
});

test('three processes together send exactly one message for each alert when a condition begins', async () => {
  others = [await start(app.databaseUrl), await start(app.databaseUrl)];
  const all = [app, ...others];
  for (const name of ['a', 'b', 'c', 'd']) await alerted.put(name, { ...EMAIL, to: [`${name}@example.org`] });
  await goDown();
  for (let n = 0; n < 5; n++) await Promise.all(all.map((one) => sweep(one)));
  await Promise.all(all.map((one) => send(one)));
  await eventually(() => expect(mail.mails).toHaveLength(4), 20_000);
  for (let n = 0; n < 3; n++) await Promise.all(all.flatMap((one) => [sweep(one), send(one)]));
  expect(mail.offered).toBe(4);
  expect(await messages()).toBe(4);
});

test('the service retries a failed alert message at growing intervals, and delays no other alert', async () => {
  const hook = { kind: 'WEBHOOK', url: subscribed.partner.url, conditions: ['PARTNER_DOWN'] };
  await alerted.put('untrusted', hook);
  await alerted.put('on-call', EMAIL);
  mail.refusal = 451;
  await goDown();
  await eventually(async () => {
    expect(await alerted.get('untrusted')).toMatchObject({ waiting: 1, last_sent_datetime: null });
    expect((await alerted.get('untrusted'))['last_error']).toMatch(/^The webhook did not answer \(/);
    expect(await alerted.get('on-call')).toMatchObject({
      last_error: 'The mail server refused the message (EMESSAGE 451)',
    });
  }, 20_000);
  const waits: number[] = [];
  for (let n = 0; n < 2; n++) {
    const { last_error_datetime, next_attempt_at } = await alerted.get('untrusted');
    waits.push((Date.parse(next_attempt_at) - Date.parse(last_error_datetime)) / 1000);
    await alerted.advance(waits[n] + 1);
    await eventually(async () =>
      expect((await alerted.get('untrusted'))['last_error_datetime']).not.toBe(last_error_datetime),
    );
  }
  expect(waits[1]).toBeGreaterThan(waits[0]);
  mail.refusal = null;
  await alerted.advance(60);
  await mail.received(/is down/);
  expect(await alerted.get('on-call')).toMatchObject({ waiting: 0, last_error: null, next_attempt_at: null });
});

test('when a process is killed while it sends an alert message, another process sends the message with the same id', async () => {
  await alerted.put('on-call', EMAIL);
  mail.isSilent = true;
  await goDown();
  await eventually(() => expect(mail.offered).toBe(1), 20_000);
  // Simulates a first process that sent the message, and was killed before it could record that the message was sent.
  await app.given.sql(`UPDATE alerts SET leased_until = now() - interval '1 second', lease_token = 1`);
  mail.isSilent = false;
  await eventually(() => expect(mail.mails).toHaveLength(1), 20_000);
  expect(mail.offered).toBe(2);
  const [{ id }] = await eventually(async () => {
    const sent = await app.given.sql('SELECT id FROM alert_messages WHERE sent_datetime IS NOT NULL');
    expect(sent).toHaveLength(1);
    return sent;
  });
  expect(mail.mails[0].headers['message-id']).toBe(`<${id}@localhost>`);
});

test('after a restart, the service sends an alert message that was stored before the restart', async () => {
  await alerted.put('on-call', EMAIL);
  mail.refusal = 451;
  await goDown();
  await eventually(async () => expect((await alerted.get('on-call'))['last_error']).not.toBeNull(), 20_000);
  others = [app];
  app = await start(app.databaseUrl);
  await others[0].app.close();
  others = [];
  mail.refusal = null;
  alerted = new Alerted(app, mail);
  await alerted.advance(60);
  await mail.received(/is down/);
  expect(await messages()).toBe(1);
});

test('a disabled or deleted alert sends none of its waiting messages', async () => {
  mail.refusal = 451;
  await alerted.put('disabled', EMAIL);
  await alerted.put('deleted', EMAIL);
  await goDown();
  await eventually(async () => {
    for (const name of ['disabled', 'deleted']) expect((await alerted.get(name))['last_error']).not.toBeNull();
  }, 20_000);
  await alerted.put('disabled', { ...EMAIL, disabled: true });
  expect((await alerted.call('DELETE', 'deleted')).status).toBe(204);
  mail.refusal = null;
  await alerted.advance(60);
  await send();
  expect(await messages()).toBe(0);
  expect(mail.mails).toEqual([]);
});

test('the service deletes sent alert messages after 30 days, and unsent ones after 7 days', async () => {
  await alerted.put('on-call', EMAIL);
  await goDown();
  await mail.received(/is down/);
  await eventually(async () => expect(await alerted.get('on-call')).toMatchObject({ waiting: 0 }));
  await recover();
  mail.refusal = 451;
  await round();
  await alerted.put('on-call', { ...EMAIL, quiet_s: 0 });
  await goDown();
  await eventually(async () => expect(await messages()).toBe(2), 20_000);
  await alerted.advance(8 * 86_400);
  await app.app.get(AlertSweep).retain();
  expect(await messages()).toBe(1);
  await alerted.advance(23 * 86_400);
  await app.app.get(AlertSweep).retain();
  expect(await messages()).toBe(0);
});
