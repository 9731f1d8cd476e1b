import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { ensureSandbox } from '../../src/sandbox';
import { startApp, type TestApp } from '../support/app';
import { openPage, startBrowser, type WatchedPage } from '../support/browser';
import { OAuth, type Login } from '../support/oauth';

/** Opens the list of operations with the given tag, unless the list is already open. */
async function openTag(page: Page, tag: string): Promise<void> {
  const closed = page.locator(`.opblock-tag[data-tag="${tag}"][data-is-open="false"]`);
  if ((await closed.count()) > 0) await closed.click();
}

/**
 * Opens an operation. Swagger UI shows "Execute" before it is ready, so the function waits until the operation is no
 * longer loading.
 */
async function open(operation: Locator): Promise<void> {
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('.opblock-body').waitFor();
  await operation.locator('.opblock-loading-animation').waitFor({ state: 'hidden' });
}

/** Tests Swagger UI in a real browser. The tests sign in with a user and an application, and try a route. */
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
    await page.locator('#client_id_password').fill(consumer_key);
    await page.locator('#client_secret_password').fill(consumer_secret);
    // Swagger UI shows the `password` flow above the `clientCredentials` flow, so the first button belongs to the
    // `password` flow.
    await page.getByRole('button', { name: 'Apply given OAuth2 credentials' }).first().click();
  }

  it('Swagger UI has a content security policy that no other page has', async () => {
    const policyOf = async (path: string) => (await fetch(app.url + path)).headers.get('content-security-policy');
    expect(await policyOf('/docs')).toContain("style-src 'self' 'unsafe-inline'");
    expect(await policyOf('/docs')).toContain("script-src 'self';");
    expect(await policyOf('/DOCS/')).toBe(await policyOf('/docs'));
    expect(await policyOf('/problems')).toContain("style-src 'self';");
  });

  it('Swagger UI shows every tag of the OpenAPI document', async () => {
    await page.goto(`${app.url}/docs`);
    const { body } = await app.call('GET', '/openapi.json');
    const tags = new Set(
      Object.values<Record<string, { tags: string[] }>>(body.paths).flatMap((path) =>
        Object.values(path).flatMap((operation) => operation.tags),
      ),
    );
    await page.locator('.opblock-tag').first().waitFor({ timeout: 60_000 });
    expect(await page.locator('.opblock-tag').count()).toBe(tags.size);
  });

  it('Swagger UI loads less than a megabyte of compressed files, and links to the page with all operations', async () => {
    const sizes: Promise<[string, number]>[] = [];
    page.on('requestfinished', (request) =>
      sizes.push(request.sizes().then(({ responseBodySize }) => [new URL(request.url()).pathname, responseBodySize])),
    );
    await page.reload();
    await page.locator('.opblock-tag').first().waitFor({ timeout: 60_000 });
    page.removeAllListeners('requestfinished');
    const loaded = await Promise.all(sizes);
    expect(loaded.length).toBeGreaterThan(3);
    expect(loaded.reduce((sum, [, size]) => sum + size, 0)).toBeLessThan(1_000_000);
    const link = page.getByRole('link', { name: 'All operations on one page' });
    expect(await link.evaluate((anchor) => (anchor as unknown as { href: string }).href)).toBe(
      `${app.url}/guide/api.html`,
    );
    // A client that does not accept the `br` encoding gets the same script uncompressed.
    const plain = await fetch(`${app.url}/docs/swagger-ui-bundle.js`, { headers: { 'accept-encoding': 'identity' } });
    expect([plain.status, plain.headers.get('content-encoding')]).toEqual([200, null]);
    const brief = await fetch(`${app.url}/docs/swagger-ui-bundle.js`, { headers: { 'accept-encoding': 'br' } });
    expect([brief.headers.get('content-encoding'), await brief.text()]).toEqual(['br', await plain.text()]);
  });

  it('axe finds no critical violation in Swagger UI, and the title of the page names the product', async () => {
    await page.goto(`${app.url}/docs`);
    await page.locator('.opblock-tag').first().waitFor({ timeout: 60_000 });
    expect(await page.title()).toBe('API · Admit');
    // The page's policy forbids foreign scripts. The test therefore injects axe, the accessibility checker, over the
    // debugger's connection.
    await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
    const critical = await page.evaluate<string[]>(
      `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.filter(({ impact }) => impact === 'critical').flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`,
    );
    expect(critical).toEqual([]);
  }, 120_000);

  it('Swagger UI reports a wrong password', async () => {
    await page.getByRole('button', { name: 'Authorize' }).click();
    await authorize({ ...login, password: 'not the password' });
    await page.locator('.auth-container .errors').first().waitFor();
    expect(watched.refusals.splice(0)).toEqual([`400 POST ${basePath}/token`]);
  });

  it('Swagger UI obtains a token with the chosen scope through the password grant, and sends no cookie', async () => {
    await page.context().addCookies([{ name: 'other', value: 'application', url: app.url }]);
    await page.locator('.scopes').first().getByText('read', { exact: true }).click();
    const [answer] = await Promise.all([page.waitForResponse(`${app.url}/token`), authorize(login)]);
    expect(await answer.json()).toMatchObject({ token_type: 'Bearer', scope: 'read' });
    expect(await answer.request().allHeaders()).not.toHaveProperty('cookie');
    await page.locator('.auth-container').getByText('Authorized').first().waitFor();
    // The "Authorize" dialog of Swagger UI has a "Close" button for each authentication method.
    await page.locator('.auth-container').getByRole('button', { name: 'Close' }).first().click();
  });

  it('Swagger UI calls a route with the token, and sends no parameter that was left empty', async () => {
    const testCode = await app.given.test(login.account);
    await app.given.eligibility({ account: login.account, testCode, token: await app.given.token([login.account]) });
    const operation = page.locator('.opblock', {
      has: page.locator('[data-path="/accounts/{account_code}/eligibilities"]'),
    });
    await openTag(page, 'Eligibilities');
    await open(operation);
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

/** Sends the examples of the document unchanged. The tests fill in only values that the sandbox generates. */
describe('Swagger UI of a sandbox', () => {
  let app: TestApp;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  let sandbox: Record<string, Login>;
  let paths: Record<string, Record<string, { tags: string[] }>>;
  /** The tags of the operations that the tests have tried. */
  const tried = new Set<string>();

  const ofAccount = '/accounts/{account_code}';
  const ofTest = `${ofAccount}/candidates/{candidate_id}/tests/{test_code}`;

  beforeAll(async () => {
    app = await startApp({ env: { SANDBOX: 'true' } });
    await ensureSandbox(app.app, app.config);
    sandbox = JSON.parse(readFileSync(join(app.config.process.dataDir, 'sandbox.json'), 'utf8'));
    ({ paths } = (await app.call('GET', '/openapi.json')).body);
    browser = await startBrowser();
    watched = await openPage(browser);
    ({ page } = watched);
    // Swagger UI can be busy for longer than the usual limit when it opens an operation.
    page.setDefaultTimeout(60_000);
    await page.goto(`${app.url}/docs`);
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  afterEach(() => expect([watched.complaints, watched.refusals]).toEqual([[], []]));

  /**
   * Fills in both forms of the dialog: one for the user's token, and one for the application's own credentials. No
   * scopes are chosen, so the token gets all scopes that the user and the application share.
   */
  async function authorize({ username, password, consumer_key, consumer_secret }: Login): Promise<void> {
    await page.locator('.auth-wrapper').getByRole('button', { name: 'Authorize' }).click();
    const dialogue = page.locator('.dialog-ux');
    const held = dialogue.getByRole('button', { name: 'Remove authorization' });
    while ((await held.count()) > 0) await held.first().click();
    await dialogue.getByLabel('username:').fill(username);
    await dialogue.getByLabel('password:').fill(password);
    await dialogue.locator('#client_id_password').fill(consumer_key);
    await dialogue.locator('#client_secret_password').fill(consumer_secret);
    await dialogue.getByRole('button', { name: 'Apply given OAuth2 credentials' }).first().click();
    // Swagger UI shows a "Remove authorization" button in each OAuth flow, although the flows share one authorization.
    await held.nth(1).waitFor();
    await dialogue.locator('#auth-basic-username').fill(consumer_key);
    await dialogue.locator('#auth-basic-password').fill(consumer_secret);
    await dialogue.getByRole('button', { name: 'Apply credentials', exact: true }).click();
    await held.nth(2).waitFor();
    await dialogue.locator('.close-modal').click();
    await dialogue.waitFor({ state: 'hidden' });
  }

  /** Scrolls to an element. In a long document, Swagger UI renders only the part near the visible area. */
  async function scrollTo(one: Locator): Promise<void> {
    const settled = '() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';
    await page.evaluate('scrollTo(0, 0)');
    for (let isAtEnd = false; ;) {
      await page.evaluate(`(${settled})()`);
      if ((await one.count()) > 0) return;
      if (isAtEnd) throw new Error(`There is no ${one.toString()}.`);
      await page.evaluate('scrollBy({ top: innerHeight, behavior: "instant" })');
      isAtEnd = await page.evaluate('scrollY + innerHeight >= document.documentElement.scrollHeight - 1');
    }
  }

  /** Opens an operation, fills in the values, and presses "Execute". @returns the body of the response */
  async function execute(name: string, values: Record<string, string> = {}): Promise<any> {
    const [method, path] = name.split(' ');
    const operation = page.locator(`.opblock-${method.toLowerCase()}`, {
      has: page.locator(`[data-path="${path}"]`),
    });
    const [tag] = paths[path][method.toLowerCase()].tags;
    await scrollTo(page.locator(`.opblock-tag[data-tag="${tag}"]`));
    await openTag(page, tag);
    await scrollTo(operation);
    await open(operation);
    for (const [placeholder, value] of Object.entries(values))
      await operation.getByPlaceholder(placeholder).fill(value);
    const address = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const [answer] = await Promise.all([
      page.waitForResponse((one) => one.request().method() === method && address.test(new URL(one.url()).pathname)),
      operation.getByRole('button', { name: 'Execute' }).click(),
    ]);
    expect([name, answer.status(), answer.ok() ? '' : await answer.text()]).toEqual([name, answer.status(), '']);
    const shown = operation.locator('.live-responses-table .response-col_status');
    await shown
      .filter({ hasText: String(answer.status()) })
      .first()
      .waitFor();
    await page.locator(`.opblock-tag[data-tag="${tag}"]`).click();
    for (const tag of paths[path][method.toLowerCase()].tags) tried.add(tag);
    return answer.json();
  }

  it('the Swagger UI of a sandbox sends the examples for clients with one click on "Execute"', async () => {
    await authorize(sandbox['client']);
    await execute('POST /introspect');
    const { svc_eligiblity_id: record, candidate } = await execute(`POST ${ofAccount}/candidates`);
    expect(candidate.candidate_id).toBe('C-1001');
    await execute('GET /eligibilities/{svc_eligibility_code}/testLaunchInfo', { svc_eligibility_code: record });
    await execute(`POST ${ofTest}/bookings`);
    await execute(`GET ${ofTest}/results`);
    await execute(`GET ${ofAccount}/changes`);
    await execute(`POST ${ofAccount}/eligibility-imports`);
  }, 300_000);

  it('the Swagger UI of a sandbox sends the examples for operators with one click on "Execute"', async () => {
    await authorize(sandbox['operator']);
    const { id } = await execute('POST /admin/subscriptions');
    expect((await execute('POST /admin/subscriptions/{id}/verify', { id })).state).toBe('ACTIVE');
    await execute('GET /admin/notifications');
    await execute('POST /admin/error-queue/resend');
    await execute('GET /partner/subscriptions');
    for (const name of ['jobs', 'users', 'alerts', 'accounts/{account_code}/candidates/{candidate_id}/export'])
      await execute(`GET /admin/${name}`);
    await execute('POST /sandbox/clock');
    for (const name of ['console/session', 'problems', 'health/ready']) await execute(`GET /${name}`);
  }, 300_000);

  it('the Swagger UI of a sandbox has a working example for every tag of the OpenAPI document', () => {
    const tags = Object.values(paths).flatMap((item) => Object.values(item).flatMap((operation) => operation.tags));
    expect([...tried].sort()).toEqual([...new Set(tags)].sort());
  });
});
