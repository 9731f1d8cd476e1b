import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { documentedBlocks, isGenuine, receiver } from '../support/documented-receiver';

const vector = documentedBlocks('json')
  .map((text) => JSON.parse(text) as Record<string, string>)
  .find((value) => 'webhook-signature' in value)!;
const { secret, body, ...headers } = vector;
const bytes = Buffer.from(body, 'utf8');
const now = Number(headers['webhook-timestamp']);

describe('the receiver of docs/notifications.md', () => {
  it('the receiver in docs/notifications.md accepts the example in the document, which the Standard Webhooks library signs identically', () => {
    expect(isGenuine(headers, bytes, secret, now + 299)).toBe(true);
    const signature = new Webhook(secret).sign(headers['webhook-id'], new Date(now * 1000), body);
    expect(signature).toBe(headers['webhook-signature']);
  });

  it('the receiver in docs/notifications.md accepts a request if one of its v1 signatures is valid, and ignores other versions', () => {
    const right = headers['webhook-signature'];
    const by = (signature: string) => isGenuine({ ...headers, 'webhook-signature': signature }, bytes, secret, now);
    expect([`v1,AAAA ${right}`, `${right} v1,AAAA`, `v1a,AAAA ${right}`].map(by)).toEqual([true, true, true]);
    expect(['v1,AAAA', 'v1', 'nonsense', right.replace('v1,', 'v2,')].map(by)).toEqual([false, false, false, false]);
  });

  it('the receiver in docs/notifications.md refuses requests that lack a header or are old, modified or already parsed, and throws no exception', () => {
    for (const name of Object.keys(headers))
      expect([name, isGenuine({ ...headers, [name]: undefined }, bytes, secret, now)]).toEqual([name, false]);
    expect(isGenuine(headers, bytes, secret, now + 301)).toBe(false);
    expect(isGenuine({ ...headers, 'webhook-timestamp': 'soon' }, bytes, secret, now)).toBe(false);
    expect(isGenuine(headers, Buffer.concat([bytes, Buffer.from(' ')]), secret, now)).toBe(false);
    expect(isGenuine(headers, JSON.parse(body) as Buffer, secret, now)).toBe(false);
  });

  it('the receiver in docs/notifications.md works in Express together with express.json(): it stores a genuine notification, and answers 401 to any other', async () => {
    const stored: unknown[] = [];
    const app = receiver({ secret, store: async (...entry) => Promise.resolve(stored.push(entry) > 0) });
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/notifications`;
    const at = String(Math.floor(Date.now() / 1000));
    const signature = new Webhook(secret).sign(headers['webhook-id'], new Date(Number(at) * 1000), body);
    const signed = { ...headers, 'webhook-timestamp': at, 'webhook-signature': signature };
    const put = async (sent: Record<string, string>) =>
      (await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/json', ...sent }, body })).status;
    try {
      expect(await put(signed)).toBe(200);
      expect(await put({})).toBe(401);
      expect(await put({ ...signed, 'webhook-signature': 'v1,AAAA' })).toBe(401);
      expect(stored).toEqual([[headers['webhook-id'], JSON.parse(body)]]);
    } finally {
      server.close();
    }
  });
});
