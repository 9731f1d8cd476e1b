import { Webhook } from 'standardwebhooks';
import { Clock } from '../../src/platform/clock';
import { startApp, type TestApp } from '../support/app';
import type { PartnerRequest } from '../support/partner';
import { Subscribed } from '../support/subscribed';

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');
const HOUR_MS = 3600_000;

let app: TestApp;
let other: TestApp;
let subscribed: Subscribed;
let secrets: string[];

beforeAll(async () => {
  app = await startApp({ env: { SECRETS_KEY } });
  other = await startApp({ databaseUrl: app.databaseUrl, env: { SECRETS_KEY, ROLES: 'api' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
  secrets = [subscribed.signingSecret];
});
afterEach(async () => {
  await setClock(0);
  jest.restoreAllMocks();
  await subscribed.stop();
});
afterAll(async () => {
  await other.close();
  await app.close();
});

/** Sets the sandbox's clock ahead by the given number of hours. */
async function setClock(hours: number): Promise<void> {
  for (const { app: process } of [app, other]) await process.get(Clock).moveTo(hours * HOUR_MS);
}

async function rotate(by: TestApp = app): Promise<void> {
  const { status, body } = await by.call('POST', `/admin/subscriptions/${subscribed.id}/rotate-secret`, {
    token: subscribed.operator,
  });
  expect(status).toBe(200);
  secrets.unshift(body.signing_secret);
}

/** Returns the indices of the secrets that sign the next notification. The newest secret has the index 0. */
async function signing(): Promise<number[]> {
  const seen = subscribed.partner.requests.length;
  await subscribed.booking();
  const request = (await subscribed.partner.received(seen + 1))[seen];
  const found = secrets.flatMap((secret, index) => (isBy(secret, request) ? [index] : []));
  expect(request.headers['webhook-signature'].split(' ')).toHaveLength(found.length);
  return found;
}

function isBy(secret: string, { raw, headers }: PartnerRequest): boolean {
  try {
    new Webhook(secret).verify(raw, headers);
    return true;
  } catch {
    return false;
  }
}

test('keeps signing with a replaced signing secret for 24 hours, even if its successors are replaced in the meantime', async () => {
  await rotate();
  expect(await signing()).toEqual([0, 1]);
  await setClock(10);
  await rotate();
  expect(await signing()).toEqual([0, 1, 2]);
  await setClock(23.9);
  expect(await signing()).toEqual([0, 1, 2]);
  await setClock(24.1);
  expect(await signing()).toEqual([0, 1]);
  await setClock(34.1);
  expect(await signing()).toEqual([0]);
});

test('after many rotations, signs with the five newest secrets of a subscription, in the form that the OpenAPI document describes', async () => {
  for (let n = 0; n < 7; n++) await rotate();
  expect(await signing()).toEqual([0, 1, 2, 3, 4]);
  const { body: document } = await app.call('GET', '/openapi.json');
  for (const { put } of Object.values<any>(document.webhooks)) {
    const { schema } = put.parameters.find(({ name }: any) => name === 'webhook-signature');
    const signatures = subscribed.partner.requests.at(-1)!.headers['webhook-signature'];
    expect(signatures).toMatch(new RegExp(schema.pattern as string));
    expect(signatures).toHaveLength(schema.maxLength as number);
    expect(`${signatures} ${signatures.split(' ')[0]}`).not.toMatch(new RegExp(schema.pattern as string));
  }
});

test('signs notifications with both new secrets when two processes rotate a signing secret at once', async () => {
  await Promise.all([rotate(), rotate(other)]);
  expect([await signing(), new Set(secrets).size]).toEqual([[0, 1, 2], 3]);
});

test('keeps every signing secret when the clock is temporarily a day ahead', async () => {
  await rotate();
  expect(await signing()).toEqual([0, 1]);
  const { now } = Date;
  const ahead = jest.spyOn(app.app.get(Clock), 'now').mockImplementation(() => new Date(now() + 25 * HOUR_MS));
  expect(await signing()).toEqual([0, 1]);
  ahead.mockRestore();
  await rotate();
  expect(await signing()).toEqual([0, 1, 2]);
});
