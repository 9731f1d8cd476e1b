import { randomBytes } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { type Partner, startPartner } from '../support/partner';
import { Subscribed } from '../support/subscribed';

const EVENTS = 40;
const PATIENCE_MS = 30_000;
/** Long enough that a partner that answers never times out, even on a busy machine with all events at once. */
const WAIT_MS = 4_000;
jest.setTimeout(3 * PATIENCE_MS);
const client = { clientId: 'ours', clientSecret: 'a long secret' };
const processes: TestApp[] = [];
let issuer: Partner;
let subscribed: Subscribed;

beforeAll(async () => {
  const env = { RETRY_SCHEDULE_S: '0.6', SECRETS_KEY: randomBytes(32).toString('base64') };
  processes.push(await startApp({ env }));
  processes.push(await startApp({ env, databaseUrl: processes[0].databaseUrl }));
});
afterEach(() => Promise.all([subscribed.stop(), issuer.stop()]));
afterAll(async () => {
  for (const app of processes.reverse()) await app.close();
});

/** Creates a partner that requires tokens, and many events that become due at the same time. */
async function burst(retried: string[]): Promise<void> {
  issuer = await startPartner({ oauth: client });
  const auth = {
    type: 'oauth2_client_credentials',
    token_url: issuer.tokenUrl,
    client_id: client.clientId,
    client_secret: client.clientSecret,
  };
  subscribed = await Subscribed.start(processes[0], { wait_ms: WAIT_MS, auto_retry_on: retried });
  expect((await subscribed.patch({ auth })).status).toBe(200);
  await subscribed.post('suspend');
  for (let made = 0; made < EVENTS; made += 10)
    await Promise.all(Array.from({ length: 10 }, () => subscribed.booking()));
}

/** Checks that each process sends only one token request at a time, and pauses after a token request has failed. */
function expectFewQuestions(): void {
  const at = issuer.tokenRequests.map((request) => request.at);
  const tooSoon = at.filter(
    (moment, index) => index >= processes.length && moment - at[index - processes.length] < 450,
  );
  expect(tooSoon).toEqual([]);
}

test.each([
  ['a 500', ['500', '429'], { status: 500 }],
  ['a 429', ['500', '429'], { status: 429 }],
  ['a 503', ['500', '429', '503'], { status: 503 }],
  ['no answer', ['500', '429', 'timeout'], { endless: 'silence' as const }],
  ['a connection that ends', ['500', '429', 'connection'], { rst: 'before' as const }],
])(
  'sends one request at a time to a token endpoint that fails with %s, and sends the events once the endpoint recovers',
  async (_out, retried, answer) => {
    await burst(retried);
    issuer.answerToken(answer);
    await subscribed.post('resume');
    await eventually(async () => expect(await subscribed.queue('&retry=AUTO')).toHaveLength(EVENTS), PATIENCE_MS);
    expect((await subscribed.subscription())['health']).toBe('DOWN');
    await eventually(() => expect(issuer.tokenRequests.length).toBeGreaterThan(2), PATIENCE_MS);
    expectFewQuestions();
    expect(subscribed.partner.requests).toHaveLength(0);
    issuer.answerToken({ body: JSON.stringify({ access_token: 'abc', token_type: 'Bearer' }) });
    await eventually(
      async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(EVENTS),
      PATIENCE_MS,
    );
    expect(await subscribed.queue()).toEqual([]);
  },
);

test.each([
  ['429', ['500', '429'], 429],
  ['503', ['500', '503'], 503],
])(
  'pauses the partner in all processes when the token endpoint answers %s with Retry-After',
  async (_out, retried, status) => {
    await burst(retried);
    issuer.answerToken({ status, headers: { 'retry-after': '4' } });
    await subscribed.post('resume');
    const paused = await eventually(async () => {
      const one = await subscribed.subscription();
      expect(one['paused_until']).not.toBeNull();
      return one;
    });
    expect(paused['health']).toBe('UP');
    const [first] = issuer.tokenRequests;
    issuer.answerToken({ body: JSON.stringify({ access_token: 'abc', token_type: 'Bearer' }) });
    await eventually(
      async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(EVENTS),
      PATIENCE_MS,
    );
    // Each process may have sent one token request before the first response arrived. The test ignores these requests.
    const later = issuer.tokenRequests.slice(processes.length);
    for (const { at } of [...later, ...subscribed.partner.requests]) expect(at - first.at).toBeGreaterThanOrEqual(3900);
    expect(await subscribed.queue()).toEqual([]);
  },
);

test.each([
  ['a 503', { status: 503 }, /^token_http_503$/],
  ['no answer', { endless: 'silence' as const }, /^token_(timeout_no_answer|late)$/],
])(
  'leaves events to an operator when the token endpoint fails with %s and auto_retry_on does not include that failure',
  async (_out, answer, reason) => {
    await burst(['500', '429']);
    issuer.answerToken(answer);
    await subscribed.post('resume');
    await eventually(async () => expect(await subscribed.queue('&retry=MANUAL')).toHaveLength(EVENTS), PATIENCE_MS);
    expectFewQuestions();
    const [row] = await subscribed.queue();
    expect(row).toMatchObject({ failure: 'auth', http_status: null });
    expect((await subscribed.notification(row['id'])).attempts).toMatchObject([
      { trigger: 'FIRST', reason: expect.stringMatching(reason) },
    ]);
  },
);
