import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { ensureSandbox } from '../src/sandbox';
import { startApp, type TestApp } from './support/app';
import { openPage, startBrowser, type WatchedPage } from './support/browser';
import { OAuth, type Login } from './support/oauth';

/** Swagger UI as it comes, in a real browser: sign in with a user and an application, try a route out. */
describe.each([{ basePath: '' }, { basePath: '/v1' }])('Swagger UI under "$basePath"', ({ basePath }) => {
  let app: TestApp;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  let login: Login;

  beforeAll(async () => {
    app = await startApp({ env: { BASE_PATH: basePath } });
    login = await new OAuth(app).login();
    browser = await startBrowser();
    watched = await openPage(browser);
    ({ page } = watched);
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  afterEach(() => expect(watched.complaints).toEqual([]));

  async function authorize({ username, password, consumer_key, consumer_secret }: Login): Promise<void> {
    await page.getByLabel('username:').fill(username);
    await page.getByLabel('password:').fill(password);
    await page.getByLabel('client_id:').fill(consumer_key);
    await page.getByLabel('client_secret:').fill(consumer_secret);
    await page.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click();
  }

  it('has a policy of its own, and gives no other page what it needs', async () => {
    const policyOf = async (path: string) => (await fetch(app.url + path)).headers.get('content-security-policy');
    expect(await policyOf('/docs')).toContain("style-src 'self' 'unsafe-inline'");
    expect(await policyOf('/docs')).toContain("script-src 'self';");
    expect(await policyOf('/problems')).toContain("style-src 'self';");
  });

  it('shows every tag of the document', async () => {
    await page.goto(`${app.url}/docs`);
    const { body } = await app.call('GET', '/openapi.json');
    const tags = new Set(
      Object.values<Record<string, { tags: string[] }>>(body.paths).flatMap((path) =>
        Object.values(path).flatMap((operation) => operation.tags),
      ),
    );
    await page.locator('.opblock-tag').first().waitFor();
    expect(await page.locator('.opblock-tag').count()).toBe(tags.size);
  });

  it('tells when the password is wrong', async () => {
    await page.getByRole('button', { name: 'Authorize' }).click();
    await authorize({ ...login, password: 'not the password' });
    await page.locator('.auth-container .errors').waitFor();
    expect(watched.refusals.splice(0)).toEqual([`400 POST ${basePath}/token`]);
  });

  it('gets a token of the chosen scope by the password grant, and sends no cookie', async () => {
    await page.context().addCookies([{ name: 'other', value: 'application', url: app.url }]);
    await page.locator('.scopes').getByText('read', { exact: true }).click();
    const [answer] = await Promise.all([page.waitForResponse(`${app.url}/token`), authorize(login)]);
    expect(await answer.json()).toMatchObject({ token_type: 'Bearer', scope: 'read' });
    expect(await answer.request().allHeaders()).not.toHaveProperty('cookie');
    await page.locator('.auth-container').getByText('Authorized').waitFor();
    // Each way to authenticate has its own.
    await page.locator('.auth-container').getByRole('button', { name: 'Close' }).first().click();
  });

  it('tries a route out with the token, and filters by nothing that was not typed', async () => {
    const testCode = await app.given.test(login.account);
    await app.given.eligibility({ account: login.account, testCode, token: await app.given.token([login.account]) });
    const operation = page.locator('.opblock', {
      has: page.locator('[data-path="/accounts/{account_code}/eligibilities"]'),
    });
    await operation.locator('.opblock-summary-control').click();
    await operation.getByPlaceholder('account_code').fill(login.account);
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.url().includes(`/accounts/${login.account}/eligibilities`)),
      operation.getByRole('button', { name: 'Execute' }).click(),
    ]);
    expect(request.headers()['authorization']).toMatch(/^Bearer [A-Za-z0-9_-]{43}$/);
    const answer = operation.locator('.live-responses-table');
    await answer.locator('.response-col_status', { hasText: '200' }).waitFor();
    await answer.getByText(testCode).first().waitFor();
    expect(watched.refusals).toEqual([]);
  });
});

/** The examples of the document, sent as they stand. */
describe('Swagger UI of a sandbox', () => {
  let app: TestApp;
  let browser: Browser;
  let watched: WatchedPage;
  let sandbox: Record<string, any>;

  beforeAll(async () => {
    app = await startApp({ env: { SANDBOX: 'true' } });
    await ensureSandbox(app.app, app.config);
    sandbox = JSON.parse(readFileSync(join(app.config.dataDir, 'sandbox.json'), 'utf8'));
    browser = await startBrowser();
    watched = await openPage(browser);
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  it('creates with "Execute" alone', async () => {
    const { page } = watched;
    await page.goto(`${app.url}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    const { username, password, consumer_key, consumer_secret } = sandbox['client'];
    await page.getByLabel('username:').fill(username);
    await page.getByLabel('password:').fill(password);
    await page.getByLabel('client_id:').fill(consumer_key);
    await page.getByLabel('client_secret:').fill(consumer_secret);
    await page.locator('.scopes').getByText('create', { exact: true }).first().click();
    await page.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click();
    await page.locator('.auth-container').getByText('Authorized').waitFor();
    await page.locator('.auth-container').getByRole('button', { name: 'Close' }).first().click();

    const operation = page.locator('.opblock-post', {
      has: page.locator('[data-path="/accounts/{account_code}/candidates"]'),
    });
    await operation.locator('.opblock-summary-control').click();
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST'),
      operation.getByRole('button', { name: 'Execute' }).click(),
    ]);
    const created = { status: answer.status(), sent: answer.request().postData() };
    expect(created).toMatchObject({ status: 200, sent: expect.stringContaining('"candidate_id": "C-1001"') });
    expect([watched.complaints, watched.refusals]).toEqual([[], []]);
  });
});
