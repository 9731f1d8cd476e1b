import { startApp, type Answer, type TestApp } from '../support/app';
import { BulkJobs, queueMany } from '../support/queued';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

/** An account with objects of every kind that support staff can see. */
interface Side {
  subscribed: Subscribed;
  account: string;
  queued: string;
  delivered: string;
  bookingCode: string;
  candidateId: string;
  svcId: string;
  unmatched: string;
  job: string;
  importId: string;
}

let app: TestApp;
let jobs: BulkJobs;
let mine: Side;
let foreign: Side;
let support: string;
let supportOfBoth: string;

beforeAll(async () => {
  app = await startApp();
  mine = await side('Mine');
  foreign = await side('Theirs');
  jobs = new BulkJobs(app, mine.subscribed.operator);
  support = await app.given.token([mine.account], ['support']);
  supportOfBoth = await app.given.token([mine.account, foreign.account], ['support']);
});
afterAll(async () => {
  await mine.subscribed.stop();
  await foreign.subscribed.stop();
  await app.close();
});

async function side(name: string): Promise<Side> {
  const subscribed = await Subscribed.start(app);
  const { scene, operator } = subscribed;
  const record = await app.given.eligibility(scene, { candidate: { candidate_id: `Q-${name}` } });
  const bookingCode = (await app.given.booking(scene, record))['booking_code'] as string;
  const delivered = await eventually(async () => {
    const [found] = await subscribed.notifications('&state=DELIVERED');
    if (!found) throw new Error('The first event was never delivered.');
    return found['id'] as string;
  });
  await queueMany(subscribed, 2);
  const queued = (await subscribed.queue())[0]['id'] as string;
  await app.call('POST', '/registrations/registration/results', {
    token: scene.token,
    body: { examMetaData: { examCode: `nowhere-${name}` } },
  });
  const [unmatched] = await app.given.sql(
    `SELECT id FROM unmatched_results u WHERE strpos(u::text, $1) > 0 OR username IN
       (SELECT username FROM user_accounts WHERE account_code = $2)`,
    [`nowhere-${name}`, scene.account],
  );
  const held = await app.given.eligibility(scene, { candidate: { candidate_id: `Q-${name}-held` } });
  await app.call('POST', `/admin/eligibilities/${held['svc_eligiblity_id']}/hold`, { token: operator, body: REASON });
  const imported = await app.call('POST', `/accounts/${scene.account}/eligibility-imports?dry_run=true`, {
    token: scene.token,
    headers: { 'content-type': 'text/csv' },
    body: `candidate_id,first_name,last_name,test_code\nI-1,A,B,${scene.testCode}\n`,
  });
  await app.given.sql(
    `INSERT INTO result_revisions (svc_eligiblity_id, revision, account_code, source, body, body_hash, simulated, username, received_datetime)
     VALUES ($1, 1, $2, 'ACCOUNT', '{}', '', true, 'driver', now())`,
    [record['svc_eligiblity_id'], scene.account],
  );
  const job = await new BulkJobs(app, operator).start('error-queue/resolve', {
    filter: { account_code: scene.account, failure: 'dns' },
    reason: `only ${name}`,
  });
  return {
    subscribed,
    account: scene.account,
    queued,
    delivered,
    bookingCode,
    candidateId: `Q-${name}`,
    svcId: record['svc_eligiblity_id'] as string,
    unmatched: unmatched['id'] as string,
    job,
    importId: imported.body.import_id as string,
  };
}

const ask = (method: string, path: string, body?: unknown, token = support) => app.call(method, path, { token, body });
const refusal = ({ status, body }: Answer) => [status, body.code];
const marks = ({ subscribed, account, queued, delivered, bookingCode, candidateId, svcId, unmatched, job }: Side) => [
  account,
  subscribed.id,
  queued,
  delivered,
  bookingCode,
  candidateId,
  svcId,
  unmatched,
  job,
];

/** The routes that return lists. The value states whether the list accepts the `account_code` filter. */
const LISTS: Record<string, boolean> = {
  '/admin/error-queue': true,
  '/admin/error-queue/summary': false,
  '/admin/error-queue/resends': true,
  '/admin/notifications': true,
  '/admin/jobs': true,
  '/admin/candidates': true,
  '/admin/subscriptions': true,
  '/admin/unmatched-results': false,
  '/admin/audit': true,
  '/admin/eligibilities': true,
  '/admin/partners': true,
  '/admin/imports': true,
};
/** The query parameters that some of the lists require. */
const NEEDED: Record<string, string> = { '/admin/candidates': '&q=q-', '/admin/eligibilities': '&waiting_for=HOLD' };
/**
 * Routes that return only the numbers of objects in an account. Other tests compare these numbers (overview,
 * console-events).
 */
const FIGURES = ['GET /admin/overview', 'GET /admin/events'];
const REASON = { reason: 'mended' };
/**
 * For each route, the path and the body of a request that concerns data of an account. The request contains the ids of
 * the given account.
 */
const DEEDS: Record<string, (of: Side) => [path: string, body?: object]> = {
  'GET /admin/notifications/{id}': (of) => [`/admin/notifications/${of.delivered}`],
  'POST /admin/notifications/replay': (of) => [
    '/admin/notifications/replay',
    { ...REASON, subscription_id: of.subscribed.id, filter: {} },
  ],
  'POST /admin/error-queue/{notification_id}/resend': (of) => [`/admin/error-queue/${of.queued}/resend`, REASON],
  'POST /admin/error-queue/{notification_id}/resolve': (of) => [`/admin/error-queue/${of.queued}/resolve`, REASON],
  'POST /admin/error-queue/resend': (of) => [
    '/admin/error-queue/resend',
    { ...REASON, filter: { account_code: of.account } },
  ],
  'POST /admin/error-queue/resolve': (of) => [
    '/admin/error-queue/resolve',
    { ...REASON, filter: { account_code: of.account } },
  ],
  'GET /admin/subscriptions/{id}': (of) => [`/admin/subscriptions/${of.subscribed.id}`],
  'GET /admin/subscriptions/{id}/statistics': (of) => [`/admin/subscriptions/${of.subscribed.id}/statistics`],
  'POST /admin/eligibilities/{svc_id}/hold': (of) => [`/admin/eligibilities/${of.svcId}/hold`, REASON],
  'GET /admin/unmatched-results/{id}': (of) => [`/admin/unmatched-results/${of.unmatched}`],
  'POST /admin/unmatched-results/{id}/accept': (of) => [
    `/admin/unmatched-results/${of.unmatched}/accept`,
    { booking_code: of.bookingCode },
  ],
  'GET /admin/unmatched-results/{id}/candidates': (of) => [`/admin/unmatched-results/${of.unmatched}/candidates`],
  'GET /admin/unmatched-results/{id}/exam': (of) => [
    `/admin/unmatched-results/${of.unmatched}/exam?code=${of.bookingCode}`,
  ],
  'GET /admin/unmatched-results/{id}/raw': (of) => [`/admin/unmatched-results/${of.unmatched}/raw`],
  'POST /admin/unmatched-results/{id}/reject': (of) => [`/admin/unmatched-results/${of.unmatched}/reject`, REASON],
  'GET /admin/eligibilities/{svc_id}': (of) => [`/admin/eligibilities/${of.svcId}`],
  'GET /admin/eligibilities/{svc_id}/results/{revision}': (of) => [`/admin/eligibilities/${of.svcId}/results/1`],
  'POST /admin/subscriptions/{id}/sample': (of) => [`/admin/subscriptions/${of.subscribed.id}/sample`, {}],
  'GET /admin/jobs/{job_id}': (of) => [`/admin/jobs/${of.job}`],
  'GET /admin/jobs/{job_id}/items': (of) => [`/admin/jobs/${of.job}/items`],
  'GET /admin/error-queue/resends/{resend_id}': (of) => [`/admin/error-queue/resends/${of.job}`],
};
for (const action of ['pause', 'resume', 'abort']) {
  DEEDS[`POST /admin/jobs/{job_id}/${action}`] = (of) => [`/admin/jobs/${of.job}/${action}`];
  DEEDS[`POST /admin/error-queue/resends/{resend_id}/${action}`] = (of) => [
    `/admin/error-queue/resends/${of.job}/${action}`,
  ];
}
for (const action of ['verify', 'suspend', 'resume'])
  DEEDS[`POST /admin/subscriptions/{id}/${action}`] = (of) => [`/admin/subscriptions/${of.subscribed.id}/${action}`];
for (const action of ['release', 'approve-accommodations'])
  DEEDS[`POST /admin/eligibilities/{svc_id}/${action}`] = (of) => [`/admin/eligibilities/${of.svcId}/${action}`];

DEEDS['POST /admin/eligibilities/{svc_id}/decline-accommodations'] = (of) => [
  `/admin/eligibilities/${of.svcId}/decline-accommodations`,
  REASON,
];
for (const decision of ['hold', 'release', 'revoke'])
  DEEDS[`POST /admin/eligibilities/{svc_id}/result/${decision}`] = (of) => [
    `/admin/eligibilities/${of.svcId}/result/${decision}`,
    REASON,
  ];
DEEDS['POST /admin/imports/{import_id}/abort'] = (of) => [`/admin/imports/${of.importId}/abort`];

for (const part of ['', '/bookings', '/results', '/changes', '/audit'])
  DEEDS[`GET /admin/accounts/{account_code}/candidates/{candidate_id}${part}`] = (of) => [
    `/admin/accounts/${of.account}/candidates/${of.candidateId}${part}`,
  ];

/** Returns the status and the problem code with which the route answers an unknown id. */
function notFound(route: string): [number, string] {
  // A route that ends with `/raw` also requires the `results` scope. The scope is checked before the service looks up
  // the id.
  if (route.endsWith('/raw')) return [403, 'insufficient_scope'];
  if (route.includes('unmatched-results')) return [404, 'unmatched_result_not_found'];
  return route.includes('/admin/eligibilities/') && !route.endsWith('{revision}')
    ? [404, 'eligibility_not_found']
    : [404, 'not_found'];
}

describe('the scope support, on every route that accepts it', () => {
  it('every route that callers with the support scope may call has a test in this file', async () => {
    const { body } = await app.call('GET', '/openapi.json');
    const documented = Object.entries(body.paths as Record<string, Record<string, any>>).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { security }]) => security?.some(({ oauth2 }: any) => oauth2?.[0] === 'support'))
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );
    const walked = [...Object.keys(LISTS).map((path) => `GET ${path}`), ...Object.keys(DEEDS), ...FIGURES];
    expect(documented.sort()).toEqual(walked.sort());
  });

  it.each(Object.keys(LISTS))('for support staff, GET %s returns only entries of their own accounts', async (path) => {
    const query = path.endsWith('summary') ? '' : `limit=200${NEEDED[path] ?? ''}`;
    const answer = await ask('GET', `${path}?${query}`);
    expect(answer.status).toBe(200);
    expect(marks(mine).some((mark) => answer.text.includes(mark))).toBe(true);
    expect(marks(foreign).filter((mark) => answer.text.includes(mark))).toEqual([]);
    const all = await ask('GET', `${path}?${query}`, undefined, mine.subscribed.operator);
    expect(marks(foreign).some((mark) => all.text.includes(mark))).toBe(true);
  });

  it.each(Object.keys(LISTS).filter((path) => LISTS[path]))(
    'for support staff, GET %s refuses a filter for an account that is not theirs before it checks the other parameters',
    async (path) => {
      const refused = await ask('GET', `${path}?account_code=${foreign.account}&limit=0`);
      const unknown = await ask('GET', `${path}?account_code=NOBODY&limit=0`);
      expect(refusal(refused)).toEqual([403, 'account_forbidden']);
      const same = ({ body: { request_id: _, ...rest } }: Answer) => rest;
      expect(same(unknown)).toEqual(same(refused));
      const query = `account_code=NOBODY${NEEDED[path] ?? ''}`;
      const { status, body } = await ask('GET', `${path}?${query}`, undefined, mine.subscribed.operator);
      expect([status, body.errors]).toEqual([
        400,
        [{ parameter: 'account_code', code: 'account_not_found', detail: expect.any(String) }],
      ]);
    },
  );

  it('support staff cannot read or change anything in an account that is not theirs', async () => {
    const state = () =>
      app.given.sql(
        `SELECT (SELECT json_agg(n ORDER BY position) FROM notifications n WHERE account_code = $1) AS notifications,
           (SELECT json_agg(s) FROM subscriptions s WHERE account_code = $1) AS subscriptions,
           (SELECT json_agg(e) FROM eligibilities e WHERE account_code = $1) AS eligibilities,
           (SELECT count(*) FROM jobs) AS jobs`,
        [foreign.account],
      );
    const before = await state();
    for (const [route, deed] of Object.entries(DEEDS)) {
      const [path, body] = deed(foreign);
      const [status, code] = refusal(await ask(route.split(' ')[0], path, body));
      expect([route, status, code]).toEqual([
        route,
        ...(JSON.stringify([path, body]).includes(foreign.account) ? [403, 'account_forbidden'] : notFound(route)),
      ]);
    }
    for (const query of ['error-queue', 'notifications'])
      expect(await ask('GET', `/admin/${query}?subscription_id=${foreign.subscribed.id}`)).toMatchObject({
        status: 200,
        body: [],
      });
    expect(await state()).toEqual(before);
  });
});

describe('bulk jobs of support staff', () => {
  it('a bulk job of support staff counts and includes only notifications of their accounts, whatever its filter', async () => {
    const dry = await ask('POST', '/admin/error-queue/resolve', { ...REASON, filter: {}, dry_run: true });
    expect([dry.status, dry.body.matched]).toEqual([200, 2]);
    const started = await ask('POST', '/admin/error-queue/resend', { ...REASON, filter: {} });
    expect(started.status).toBe(202);
    const done = await jobs.having(started.body.job_id, { state: 'DONE' });
    expect(done).toMatchObject({ matched: 2, delivered: 2 });
    expect(foreign.subscribed.partner.requests).toHaveLength(1);
    expect(await foreign.subscribed.queue()).toHaveLength(2);
    const items = await ask('GET', `/admin/jobs/${started.body.job_id}/items`);
    expect(items.body).toHaveLength(2);
    const replay = DEEDS['POST /admin/notifications/replay'](mine);
    const replayed = await ask('POST', ...replay);
    expect(replayed.status).toBe(202);
    await jobs.having(replayed.body.job_id, { state: 'DONE', matched: 3 });
    expect(marks(mine).some((mark) => items.text.includes(mark))).toBe(true);
  });

  it('a bulk job is visible only to support staff who have access to all its accounts', async () => {
    const none = { ...REASON, filter: { failure: 'dns' } };
    const ofAll = await jobs.start('error-queue/resolve', { filter: { failure: 'dns' } });
    const ofBoth = (await ask('POST', '/admin/error-queue/resolve', none, supportOfBoth)).body.job_id as string;
    const ofMine = (await ask('POST', '/admin/error-queue/resolve', none)).body.job_id as string;
    const seen = async (token: string) => {
      const { body } = await ask('GET', '/admin/jobs?limit=200', undefined, token);
      const ids = (body as { job_id: string }[]).map(({ job_id }) => job_id);
      return [ofAll, ofBoth, ofMine].filter((id) => ids.includes(id));
    };
    expect(await seen(support)).toEqual([ofMine]);
    expect(await seen(supportOfBoth)).toEqual([ofBoth, ofMine]);
    expect(await seen(mine.subscribed.operator)).toEqual([ofAll, ofBoth, ofMine]);
    for (const id of [ofAll, ofBoth])
      for (const path of [`/admin/jobs/${id}`, `/admin/jobs/${id}/items`, `/admin/error-queue/resends/${id}`])
        expect(refusal(await ask('GET', path))).toEqual([404, 'not_found']);
    expect(refusal(await ask('POST', `/admin/jobs/${ofAll}/abort`, undefined, supportOfBoth))).toEqual([
      404,
      'not_found',
    ]);
    const nobody = await app.given.token([], ['support']);
    const ofNone = await ask('POST', '/admin/error-queue/resend', { ...REASON, filter: {} }, nobody);
    await jobs.having(ofNone.body.job_id, { state: 'DONE', matched: 0 });
    expect(await seen(nobody)).toEqual([]);
    expect(refusal(await ask('GET', `/admin/jobs/${ofNone.body.job_id}`))).toEqual([404, 'not_found']);
  });

  it('a job of support staff does not show a partner of another account, even if the filter of the job names the partner', async () => {
    const { id } = foreign.subscribed;
    for (const token of [support, await app.given.token([mine.account, await app.given.account()], ['support'])]) {
      const { body } = await ask(
        'POST',
        '/admin/error-queue/resolve',
        { ...REASON, filter: { subscription_id: id } },
        token,
      );
      const job = await ask('GET', `/admin/jobs/${body.job_id}`, undefined, token);
      expect(job.body).toMatchObject({ filter: { subscription_id: id }, subscription_id: null, partner_url: null });
      expect(job.text).not.toContain(foreign.account);
    }
  });

  it('support staff cannot pause or abort an erasure', async () => {
    const { scene, operator } = mine.subscribed;
    const record = await app.given.eligibility(scene);
    const path = `/admin/accounts/${mine.account}/candidates/${record['candidate'].candidate_id}/erase`;
    expect(refusal(await ask('POST', path, REASON))).toEqual([403, 'insufficient_scope']);
    const { job_id } = (await ask('POST', path, REASON, operator)).body;
    expect((await ask('GET', `/admin/jobs/${job_id}`)).body.kind).toBe('ERASE');
    const answer = await ask('POST', `/admin/jobs/${job_id}/abort`);
    expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
    expect(answer.headers.get('www-authenticate')).toContain('scope="admin"');
  });

  it('support staff of an account can read the audit rows of its bulk jobs', async () => {
    const rows = (await ask('GET', '/admin/audit?action=job.resend')).body as Record<string, unknown>[];
    expect(rows.map(({ account_code }) => account_code)).toEqual([mine.account]);
  });
});
