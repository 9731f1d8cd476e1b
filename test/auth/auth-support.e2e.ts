import { startApp, type Answer, type TestApp } from '../support/app';

let app: TestApp;
let mine: Awaited<ReturnType<TestApp['given']['scene']>>;
let foreign: typeof mine;
let support: string;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  mine = await app.given.scene();
  foreign = await app.given.scene();
  support = await app.given.token([mine.account], ['support']);
  operator = await app.given.operator();
});
afterAll(() => app.close());

const ask = (method: string, path: string, body?: unknown, token = support) => app.call(method, path, { token, body });
const refusal = ({ status, body }: Answer) => [status, body.code];

async function subscriptionOf(account: string): Promise<string> {
  const { body } = await ask(
    'POST',
    '/admin/subscriptions',
    { account_code: account, partner_url: 'https://127.0.0.1:1/partner' },
    operator,
  );
  return body.id as string;
}

describe('the scope support', () => {
  it("the `support` scope allows holding, releasing and approving only records of the caller's accounts", async () => {
    const own = await app.given.eligibility(mine);
    const other = await app.given.eligibility(foreign);
    for (const [action, body] of [
      ['hold', { reason: 'Fee is open' }],
      ['release', undefined],
      ['approve-accommodations', undefined],
    ] as const) {
      const answer = await ask('POST', `/admin/eligibilities/${own['svc_eligiblity_id']}/${action}`, body);
      // A record without special accommodations has no approval pending, so the request to approve them is refused.
      expect(action === 'approve-accommodations' ? [204, 403] : [204]).toContain(answer.status);
      const path = `/admin/eligibilities/${other['svc_eligiblity_id']}/${action}`;
      expect(refusal(await ask('POST', path, body))).toEqual([404, 'eligibility_not_found']);
    }
    expect(refusal(await ask('POST', '/admin/eligibilities/AB2CD3EF/release'))).toEqual([404, 'eligibility_not_found']);
  });

  it("the `support` scope allows reading, suspending and resuming, but not editing, subscriptions of the caller's accounts", async () => {
    const own = await subscriptionOf(mine.account);
    const other = await subscriptionOf(foreign.account);
    const list = await ask('GET', '/admin/subscriptions');
    expect(list.body.map(({ id }: { id: string }) => id)).toEqual([own]);
    expect((await ask('GET', `/admin/subscriptions?account_code=${mine.account}`)).body).toHaveLength(1);
    expect(refusal(await ask('GET', `/admin/subscriptions?account_code=${foreign.account}`))).toEqual([
      403,
      'account_forbidden',
    ]);
    expect((await ask('GET', `/admin/subscriptions/${own}`)).status).toBe(200);
    expect(refusal(await ask('POST', `/admin/subscriptions/${own}/suspend`))).toEqual([409, 'subscription_unverified']);
    expect(refusal(await ask('POST', `/admin/subscriptions/${own}/verify`))).toEqual([400, 'verification_failed']);
    for (const [method, rest] of [
      ['GET', ''],
      ['POST', '/verify'],
      ['POST', '/suspend'],
      ['POST', '/resume'],
    ])
      expect(refusal(await ask(method, `/admin/subscriptions/${other}${rest}`))).toEqual([404, 'not_found']);
    for (const [method, rest, body] of [
      ['PATCH', '', { wait_ms: 2000 }],
      ['DELETE', '', undefined],
      ['POST', '/rotate-secret', undefined],
    ] as const)
      expect(refusal(await ask(method, `/admin/subscriptions/${own}${rest}`, body))).toEqual([
        403,
        'insufficient_scope',
      ]);
  });

  it("the `support` scope allows reading only the audit rows of the caller's accounts", async () => {
    const own = await app.given.eligibility(mine);
    const other = await app.given.eligibility(foreign);
    const rows = (await ask('GET', '/admin/audit?action=eligibility.create&limit=200')).body as Record<
      string,
      unknown
    >[];
    const subjects = rows.map(({ subject }) => subject);
    expect(subjects).toContain(own['svc_eligiblity_id']);
    expect(subjects).not.toContain(other['svc_eligiblity_id']);
    expect(new Set(rows.map(({ account_code }) => account_code))).toEqual(new Set([mine.account]));
  });

  it('a caller with the `support` scope cannot access users, applications, accounts, the catalogue or client routes', async () => {
    const { account } = mine;
    for (const [method, path] of [
      ['GET', '/admin/users'],
      ['POST', '/admin/users'],
      ['PUT', '/admin/users/somebody'],
      ['GET', '/admin/applications'],
      ['POST', '/admin/applications'],
      ['POST', '/admin/applications/AAAA/rotate-secret'],
      ['GET', '/admin/accounts'],
      ['POST', '/admin/accounts'],
      ['GET', `/admin/accounts/${account}`],
      ['PUT', `/admin/accounts/${account}/tests/T`],
      ['GET', `/admin/accounts/${account}/schools`],
      ['PUT', `/admin/accounts/${account}/vouchers/V`],
      ['POST', '/admin/subscriptions'],
      ['GET', `/accounts/${account}/candidates/nobody`],
    ])
      expect([method, path, ...refusal(await ask(method, path))]).toEqual([method, path, 403, 'insufficient_scope']);
  });

  it('the `support` scope can be granted to users and applications', async () => {
    const username = app.given.unique('helper-');
    const made = await ask(
      'POST',
      '/admin/users',
      { username, password: 'seven grey herons wait', account_codes: [mine.account], scopes: ['support'] },
      operator,
    );
    expect([made.status, made.body.scopes]).toEqual([201, ['support']]);
    expect((await ask('POST', '/admin/applications', { name: 'Desk', scopes: ['support'] }, operator)).status).toBe(
      201,
    );
  });
});
