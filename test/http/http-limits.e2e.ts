import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { rateLimited } from '../../src/platform/errors';
import { BodyPace } from '../../src/platform/overload/body-pace';
import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody } from '../support/deliveries';

/**
 * Tests section 2 of the contract: the limits for bodies. Each connection is a plain socket, so that the tests see
 * every response and the end of the connection.
 */
let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const JSON_TYPE = 'Content-Type: application/json';
const bearer = (token = scene.token) => `Authorization: Bearer ${token}`;
const candidates = () => `/accounts/${scene.account}/candidates`;
const RESULTS = '/registrations/registration/results';

/** A connection on which a test writes arbitrary bytes. */
class Wire {
  private received = '';
  closed = false;

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    socket.on('error', () => undefined);
    for (const event of ['end', 'close']) socket.on(event, () => (this.closed = true));
  }

  static async open(): Promise<Wire> {
    const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1' });
    await once(socket, 'connect');
    return new Wire(socket);
  }

  send(text: string | Buffer): void {
    this.socket.write(text);
  }

  head(method: string, path: string, ...headers: string[]): void {
    this.send(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`);
  }

  /** Returns the received bytes once they contain the text, or an empty string if the time limit passes first. */
  async until(text: string, ms = 10_000): Promise<string> {
    for (const end = Date.now() + ms; Date.now() < end && !this.closed; await pause(10))
      if (this.received.includes(text)) return this.received;
    return this.received.includes(text) ? this.received : '';
  }

  async closes(ms = 10_000): Promise<boolean> {
    for (const end = Date.now() + ms; Date.now() < end && !this.closed; await pause(10));
    return this.closed;
  }

  get text(): string {
    return this.received;
  }

  end(): void {
    this.socket.destroy();
  }
}

describe('a body over the size limit', () => {
  it.each([
    ['an ordinary route', 'POST', candidates, [JSON_TYPE], 256 * 1024],
    ['a result', 'POST', () => RESULTS, [JSON_TYPE], 8 * 1024 * 1024],
    ['a result of an account', 'PUT', () => `/accounts/${scene.account}`, [JSON_TYPE], 8 * 1024 * 1024],
  ])(
    'refuses a large body (%s) with 413 because of its Content-Length alone, and closes the connection',
    async (_route, method, path, headers, limit) => {
      for (const length of [limit + 1, 1_000_000_000]) {
        const wire = await Wire.open();
        wire.head(method, path(), bearer(), ...headers, `Content-Length: ${length}`);
        const answer = await wire.until('"code":"payload_too_large"');
        expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*\r\nConnection: close\r\n/);
        expect(await wire.closes()).toBe(true);
      }
    },
  );

  it('the token service refuses a large body with 413 because of its Content-Length alone, and closes the connection', async () => {
    const { key, secret } = await client();
    const wire = await Wire.open();
    const basic = `Authorization: Basic ${btoa(`${key}:${secret}`)}`;
    wire.head('POST', '/token', basic, 'Content-Type: application/x-www-form-urlencoded', 'Content-Length: 16385');
    expect(await wire.until('"invalid_request"')).toMatch(/^HTTP\/1\.1 413 [^]*\r\nConnection: close\r\n/);
    expect(await wire.closes()).toBe(true);
  });

  it('returns 413 for a body that is too large, even if the client sends the whole body', async () => {
    const answer = await app.call('POST', candidates(), { token: scene.token, body: ' '.repeat(5_000_000) });
    expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
  });

  it('returns 401 for a large body from a caller without a token, and does not read the body', async () => {
    const wire = await Wire.open();
    wire.head('POST', candidates(), JSON_TYPE, 'Content-Length: 1000000000');
    expect(await wire.until('"code":"unauthorized"')).toMatch(/^HTTP\/1\.1 401 /);
    expect(await wire.closes()).toBe(true);
  });

  /** Creates a client application; returns its consumer key and secret. */
  async function client(): Promise<{ key: string; secret: string }> {
    const operator = await app.given.operator();
    const answer = await app.call('POST', '/admin/applications', {
      token: operator,
      body: { name: 'limits', scopes: ['read'], grants: ['password'] },
    });
    return { key: answer.body.consumer_key as string, secret: answer.body.consumer_secret as string };
  }
});

describe('Expect: 100-continue', () => {
  it('answers Expect: 100-continue with 100 Continue when the service will read the body', async () => {
    const body = JSON.stringify(app.given.eligibilityBody(scene.testCode));
    const wire = await Wire.open();
    wire.head('POST', candidates(), bearer(), JSON_TYPE, `Content-Length: ${body.length}`, 'Expect: 100-continue');
    expect(await wire.until('100 Continue')).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    wire.send(body);
    expect(await wire.until('svc_eligiblity_id')).toMatch(/\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    wire.end();
  });

  it('reads a large body only when the pause of its sender is over', async () => {
    let endPause: () => void;
    const pausing = new Promise<void>((resolve) => (endPause = resolve));
    const rest = jest.spyOn(app.app.get(BodyPace), 'rest').mockReturnValueOnce(pausing);
    const body = JSON.stringify({ ...registrationBody(), overAllComments: 'x'.repeat(64 * 1024) });
    const wire = await Wire.open();
    wire.head('POST', RESULTS, bearer(), JSON_TYPE, `Content-Length: ${body.length}`, 'Expect: 100-continue');
    while (rest.mock.calls.length === 0) await pause(10);
    expect(await wire.until('100 Continue', 300)).toBe('');
    endPause!();
    expect(await wire.until('100 Continue')).not.toBe('');
    wire.send(body);
    expect(await wire.until('"code"')).toMatch(/\r\n\r\nHTTP\/1\.1 400 /);
    wire.end();
  });

  it('a caller that would have to wait too long gets its response before the body is read', async () => {
    jest.spyOn(app.app.get(BodyPace), 'rest').mockRejectedValueOnce(rateLimited.error());
    const wire = await Wire.open();
    wire.head('POST', RESULTS, bearer(), JSON_TYPE, 'Content-Length: 5000000', 'Expect: 100-continue');
    await wire.until('"code":"rate_limited"');
    expect(wire.text).toMatch(/^HTTP\/1\.1 [45]\d\d [^]*\r\nConnection: close\r\n/);
    expect(await wire.closes()).toBe(true);
  });

  it.each([
    ['without a token', 401, () => [JSON_TYPE, 'Content-Length: 9']],
    ['of a wrong type', 415, () => [bearer(), 'Content-Type: text/plain', 'Content-Length: 9']],
    ['over the limit', 413, () => [bearer(), JSON_TYPE, 'Content-Length: 999999']],
  ])(
    'a request with Expect: 100-continue that is %s gets the status %i and no 100 Continue',
    async (_title, status, headers) => {
      const wire = await Wire.open();
      wire.head('POST', candidates(), ...headers(), 'Expect: 100-continue');
      await wire.until('"request_id"');
      expect(wire.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(await wire.closes()).toBe(true);
    },
  );
});

describe('a body that stops arriving', () => {
  it.concurrent(
    'within 30 s, answers a stalled body with 408 (500 on result routes, so that test drivers retry), and disconnects',
    async () => {
      // The routes for results answer 500 instead of 408, because a test driver retries only after a 500.
      const stopped: [string, string, string, number][] = [
        [candidates(), 'Content-Length: 5000', '{"a":', 408],
        [RESULTS, 'Content-Length: 7000000', '{"a":', 500],
        [RESULTS, 'Content-Length: 7000000', `{"a":"${'x'.repeat(2_000_000)}`, 500],
        [candidates(), 'Transfer-Encoding: chunked', '5\r\n{"a":\r\n', 408],
        [candidates(), 'Content-Length: 5000', '', 408],
      ];
      await Promise.all(
        stopped.map(async ([path, framing, piece, status]) => {
          const wire = await Wire.open();
          wire.head('POST', path, bearer(), JSON_TYPE, framing);
          wire.send(piece);
          expect(await wire.until('"code":"request_timeout"', 30_000)).toMatch(
            new RegExp(`^HTTP/1\\.1 ${status} [^]*\\r\\nConnection: close\\r\\n`),
          );
          expect(await wire.closes()).toBe(true);
        }),
      );
    },
  );

  it.concurrent('within 30 s, answers 408 to an incomplete body, even if a byte arrives every second', async () => {
    const wire = await Wire.open();
    wire.head('POST', candidates(), bearer(), JSON_TYPE, 'Content-Length: 5000');
    const drip = setInterval(() => wire.send(' '), 1000);
    expect(await wire.until('"code":"request_timeout"', 30_000)).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(drip);
    wire.end();
  });
});

describe('the number of values in a body', () => {
  const wide = (values: number) => `{"more":[${'1,'.repeat(values - 3)}1]}`;

  it('accepts at most 100,000 values in a result', async () => {
    const deliveries = new Deliveries(app);
    const { svc_eligiblity_id } = await app.given.eligibility(scene);
    const result = registrationBody({ examMetaData: { examCode: svc_eligiblity_id }, more: [] });
    const withMore = (entries: number) =>
      JSON.stringify(result).replace('"more":[]', `"more":[${'1,'.repeat(entries - 1)}1]`);
    expect((await deliveries.register(scene.token, withMore(99_900))).status).toBe(200);
    for (const entries of [100_001, 3_000_000])
      expect((await deliveries.register(scene.token, withMore(entries))).body).toMatchObject({
        status: 413,
        code: 'payload_too_large',
      });
  });

  it('accepts at most 100,000 values in a body that is not a result', async () => {
    const send = (body: string) => app.call('POST', candidates(), { token: scene.token, body });
    expect((await send(wide(100_000))).status).toBe(400);
    expect((await send(wide(100_001))).body).toMatchObject({ status: 413, code: 'payload_too_large' });
  });

  it('reads the large bodies of one caller one after another, without delaying other callers', async () => {
    const other = await app.given.scene();
    const order: string[] = [];
    const send = async (name: string, { account, token }: typeof scene) => {
      const body = wide(60_000);
      const { status } = await app.call('POST', `/accounts/${account}/candidates`, { token, body });
      order.push(`${name} ${status}`);
    };
    await send('mine', scene);
    const mine = [1, 2].map(() => send('mine', scene));
    await send('theirs', other);
    await Promise.all(mine);
    expect(order).toEqual(['mine 400', 'theirs 400', 'mine 400', expect.stringMatching(/^mine (400|429)$/)]);
  });

  it('counts every value of a body towards the limit, including the values of repeated members', async () => {
    const again = `{${Array(870_000).fill('"a":1').join()}}`;
    expect((await new Deliveries(app).register(scene.token, again)).status).toBe(413);
  });
});
