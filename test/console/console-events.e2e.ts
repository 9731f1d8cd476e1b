import { setTimeout as pause } from 'node:timers/promises';
import { EventStreams } from '../../src/console/event-streams';
import { Snapshots } from '../../src/console/snapshot';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { CookieJar } from '../support/identity-provider';
import { OAuth } from '../support/oauth';
import { refused } from '../support/queued';
import { Subscribed } from '../support/subscribed';
import { SCOPES } from '../../src/platform/context/caller';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

/** A client that reads the event stream of the console and records the events. */
class Listener {
  text = '';
  ended = false;
  private constructor(
    readonly response: Response,
    private readonly abort: AbortController,
  ) {}

  static async start(headers: Record<string, string>): Promise<Listener> {
    const abort = new AbortController();
    const response = await fetch(`${app.url}/admin/events`, { headers, signal: abort.signal });
    const listener = new Listener(response, abort);
    if (response.ok) void listener.read().catch(() => undefined);
    return listener;
  }

  static of(token: string): Promise<Listener> {
    return Listener.start({ authorization: `Bearer ${token}` });
  }

  get topics(): Set<string> {
    const told = [...this.text.matchAll(/event: changed\ndata: (.*)\n\n/g)];
    return new Set(told.flatMap(([, data]) => (JSON.parse(data) as { topics: string[] }).topics));
  }

  has(topic: string): Promise<void> {
    return eventually(async () => {
      await look();
      expect([...this.topics]).toContain(topic);
    }, 20_000);
  }

  stop(): void {
    this.abort.abort();
  }

  private async read(): Promise<void> {
    for await (const chunk of this.response.body as unknown as AsyncIterable<Uint8Array>)
      this.text += Buffer.from(chunk).toString('utf8');
    this.ended = true;
  }
}

/** Makes the event stream query the database now. Normally, the stream queries the database at intervals. */
async function look(): Promise<void> {
  const [snapshots, streams] = [app.app.get(Snapshots), app.app.get(EventStreams)];
  await eventually(() => !streams['looking']);
  snapshots['notBefore'] = 0;
  await streams.poll();
}

/** Waits until the event stream has queried the database twice, and its listeners have received the events. */
async function aLook(): Promise<void> {
  for (let looks = 0; looks < 2; looks++) await look();
  await pause(100);
}

it('the event stream of the console sends a comment within 6 seconds while nothing changes', async () => {
  const listener = await Listener.of(subscribed.operator);
  const opened = performance.now();
  await eventually(() => expect(listener.text).toContain(': ping\n\n'), 20_000);
  // A comment is due after at most 6 seconds. The limit allows one second more, because timers can be late on a busy
  // machine.
  expect(performance.now() - opened).toBeLessThan(7_000);
  expect(listener.topics).toEqual(new Set());
  listener.stop();
}, 30_000);

it('the event stream of the console sends the names of changed topics, and nothing before the first change', async () => {
  const listener = await Listener.of(subscribed.operator);
  const { headers } = listener.response;
  expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store, no-transform');
  expect(headers.get('etag')).toBeNull();
  await aLook();
  expect(listener.topics).toEqual(new Set());
  await refused(subscribed, 1);
  for (const topic of ['undelivered', 'partners', 'attempts']) await listener.has(topic);
  expect(listener.topics).not.toContain('waiting');
  await subscribed.post('suspend');
  const filter = { subscription_id: subscribed.id };
  await subscribed.admin('POST', 'error-queue/resend', { filter, reason: 'mended' });
  await listener.has('jobs');
  const held = await app.given.eligibility(subscribed.scene);
  await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/hold`, { reason: 'Identity' });
  await listener.has('waiting');
  listener.stop();
}, 60_000);

it('the event stream of the console sends a change that occurs immediately after the stream opens', async () => {
  const held = await app.given.eligibility(subscribed.scene);
  const listener = await Listener.of(subscribed.operator);
  await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/hold`, { reason: 'Identity' });
  await listener.has('waiting');
  listener.stop();
}, 60_000);

it('the event stream reports a list as changed when one item is added while another is removed', async () => {
  const records = [await app.given.eligibility(subscribed.scene), await app.given.eligibility(subscribed.scene)];
  const [one, other] = records.map((record) => record['svc_eligiblity_id'] as string);
  await subscribed.admin('POST', `eligibilities/${one}/hold`, { reason: 'Identity' });
  const listener = await Listener.of(subscribed.operator);
  await aLook();
  listener.text = '';
  await app.given.sql(
    `UPDATE eligibilities e SET status = o.status, hold_reason = o.hold_reason FROM eligibilities o
     WHERE (e.svc_eligiblity_id, o.svc_eligiblity_id) IN (($1, $2), ($2, $1))`,
    [one, other],
  );
  await listener.has('waiting');
  listener.stop();
}, 60_000);

it('the event stream sends support staff only the changes in their own accounts', async () => {
  const mine = await Listener.of(await app.given.token([subscribed.scene.account], ['support']));
  const other = await Listener.of(await app.given.token([(await app.given.scene()).account], ['support']));
  await aLook();
  const held = await app.given.eligibility(subscribed.scene);
  await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/hold`, { reason: 'Identity' });
  await mine.has('waiting');
  expect(other.topics).not.toContain('waiting');
  mine.stop();
  other.stop();
}, 60_000);

it('the event stream sends staff of one account nothing about the jobs and imports of another account', async () => {
  const { account, testCode, token } = subscribed.scene;
  const [mine, other] = [account, (await app.given.scene()).account].map((one) => app.given.token([one], ['support']));
  const ofMine = await Listener.of(await mine);
  const ofOther = await Listener.of(await other);
  await app.given.sql(
    `INSERT INTO jobs (id, kind, state, filter, reason, account_code, actor)
     VALUES (gen_random_uuid(), 'RESEND', 'PAUSED', '{}', 'mended', $1, 'somebody')`,
    [account],
  );
  await app.call('POST', `/accounts/${account}/eligibility-imports`, {
    token,
    headers: { 'content-type': 'text/csv' },
    body: `candidate_id,first_name,last_name,test_code\nI-1,A,B,${testCode}\n`,
  });
  for (const topic of ['jobs', 'imports']) await ofMine.has(topic);
  await aLook();
  expect(ofOther.topics).toEqual(new Set());
  for (const listener of [ofMine, ofOther]) listener.stop();
}, 60_000);

it('an open event stream does not extend the session, and is closed when the session ends', async () => {
  const login = await new OAuth(app).login({ scopes: SCOPES });
  const jar = new CookieJar();
  const { username, password } = login;
  const fromConsole = { 'console-request': '1' };
  const signIn = await app.call('POST', '/console/session', { body: { username, password }, headers: fromConsole });
  jar.keep(signIn.headers);
  const cookie = { ...fromConsole, cookie: jar.header };
  expect((await Listener.start({ cookie: jar.header })).response.status).toBe(401);
  const listener = await Listener.start(cookie);
  expect(listener.response.status).toBe(200);
  const end = async () =>
    (
      await app.given.sql(
        `SELECT t.expires_at FROM access_tokens t JOIN token_families USING (family_id) WHERE username = $1`,
        [username],
      )
    )[0]['expires_at'] as Date;
  const shorter = `UPDATE access_tokens SET expires_at = now() + interval '5 minutes' FROM token_families f
    WHERE f.family_id = access_tokens.family_id AND username = $1`;
  await app.given.sql(shorter, [username]);
  const before = await end();
  await aLook();
  const held = await app.given.eligibility(subscribed.scene);
  await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/hold`, { reason: 'Identity' });
  await listener.has('waiting');
  expect(await end()).toEqual(before);
  await app.call('DELETE', '/console/session', { headers: cookie });
  await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/release`);
  await eventually(async () => {
    await look();
    expect(listener.ended).toBe(true);
  }, 20_000);
  expect(listener.text.endsWith('event: end\ndata: {}\n\n')).toBe(true);
}, 60_000);

it('clients cannot open the event stream, and a user can open at most ten streams', async () => {
  expect((await Listener.of(subscribed.scene.token)).response.status).toBe(403);
  const token = await app.given.operator();
  const listeners = await Promise.all(Array.from({ length: 10 }, () => Listener.of(token)));
  const refusedOne = await Listener.of(token);
  expect([refusedOne.response.status, refusedOne.response.headers.get('retry-after')]).toEqual([429, '60']);
  for (const listener of listeners) listener.stop();
  await eventually(async () => {
    const again = await Listener.of(token);
    again.stop();
    expect(again.response.status).toBe(200);
  });
});

it('an open event stream does not delay the shutdown of the process', async () => {
  const other = await startApp();
  const token = await other.given.operator();
  const response = await fetch(`${other.url}/admin/events`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  const whole = response.text();
  await other.close();
  expect(await whole).toContain('retry: ');
});
