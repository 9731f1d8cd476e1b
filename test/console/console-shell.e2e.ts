import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';

const ASSETS = join(__dirname, '../../dist/console/assets');
const MOST_BYTES = 250 * 1024;

describe('the files of the console', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ env: { BASE_PATH: '/v1' } });
  });
  afterAll(() => app.close());

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${app.url}${path}`, { headers, redirect: 'manual' });

  it('the console serves one page at every address, with a content security policy that blocks injected scripts and styles', async () => {
    for (const path of [
      '/console',
      '/console/queue',
      '/console/jobs/some-id',
      '/console/notifications/x/y?state=PENDING',
      '/console/nothing',
    ]) {
      const response = await get(path);
      expect([path, response.status, response.headers.get('cache-control')]).toEqual([path, 200, 'no-cache']);
      const policy = response.headers.get('content-security-policy')!;
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("style-src 'self';");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(policy).not.toContain('unsafe');
      const html = await response.text();
      expect(html).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
      const [, script] = /<script[^>]* src="([^"]+)"/.exec(html)!;
      expect(new URL(script, response.url).pathname).toMatch(/^\/v1\/console\/assets\//);
    }
    for (const path of ['/console/assets/nothing.js', '/console/assets/..%2Findex.html'])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
  });

  it("browsers can cache the console's files forever, and get compressed files if they accept compression", async () => {
    const html = await (await get('/console')).text();
    const [, script] = /<script[^>]* src="([^"]+)"/.exec(html)!;
    const address = new URL(script, `${app.url}/console`).pathname.replace('/v1', '');
    const plain = await get(address, { 'accept-encoding': 'identity' });
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.headers.get('content-encoding')).toBeNull();
    const compressed = await get(address, { 'accept-encoding': 'br' });
    expect(compressed.headers.get('content-encoding')).toBe('br');
    expect(await compressed.text()).toBe(await plain.text());
  });

  it(`the first page of the console loads less than ${MOST_BYTES / 1024} KiB of JavaScript`, async () => {
    const driver = await ConsoleDriver.start(app);
    let loaded: Map<string, number>;
    try {
      loaded = await loadedForFirstPage(driver);
    } finally {
      await driver.stop();
    }
    const bytes = [...loaded.values()].reduce((sum, each) => sum + each, 0);
    expect(loaded.size).toBeGreaterThan(2);
    expect(bytes).toBeLessThan(MOST_BYTES);
    for (const name of loaded.keys()) {
      const file = join(ASSETS, name);
      expect(brotliDecompressSync(readFileSync(`${file}.br`)).equals(readFileSync(file))).toBe(true);
    }
  });

  /**
   * Waits until the page is shown, and returns the files that were loaded for it. The browser loads the code of other
   * pages later, while it is idle.
   */
  async function loadedForFirstPage(driver: ConsoleDriver): Promise<Map<string, number>> {
    const loaded = new Map<string, number>();
    driver.page.on('response', (response) => {
      if (!response.url().endsWith('.js')) return;
      const name = response.url().split('/').pop()!;
      loaded.set(name, gzipSync(readFileSync(join(ASSETS, name))).length);
    });
    await driver.page.reload();
    await driver.title('Overview');
    return new Map(loaded);
  }
});

describe('every page of the console', () => {
  let app: TestApp;
  let driver: ConsoleDriver;
  beforeAll(async () => {
    app = await startApp();
    driver = await ConsoleDriver.start(app, '/notifications?state=PENDING');
  });
  afterEach(() => driver.expectNoComplaints());
  afterAll(async () => {
    await driver?.stop();
    await app?.close();
  });

  it('the console opens the requested address after the sign-in, and stores the session only where scripts cannot read it', async () => {
    await driver.title('Notifications');
    expect(await driver.page.getByLabel('State').inputValue()).toBe('PENDING');
    const kept = await driver.page.evaluate('JSON.stringify([{...localStorage}, document.cookie])');
    expect(kept).toBe('[{},""]');
  });

  it('the console shows the same page when it is reloaded, opened in a new tab by its link, or reached by the back button', async () => {
    await driver.page.reload();
    await driver.title('Notifications');
    const tab = await driver.page.context().newPage();
    await tab.goto(`${app.url}/console/notifications?state=DELIVERED`);
    await tab.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor();
    expect(await tab.getByLabel('State').inputValue()).toBe('DELIVERED');
    await tab.close();
    await driver.link('Home').click();
    await driver.title('Overview');
    await driver.page.goBack();
    await driver.title('Notifications');
    expect(driver.page.url()).toBe(`${app.url}/console/notifications?state=PENDING`);
  });

  it('the console requests the session and the data of the page while its JavaScript is still loading', async () => {
    const tab = await driver.page.context().newPage();
    for (const [file, path] of [
      ['app', '/console/session'],
      ['home-page', '/admin/overview'],
    ]) {
      const asked = tab.waitForRequest((request) => new URL(request.url()).pathname.endsWith(path));
      await tab.route(`**/assets/${file}-*.js`, async (route) => {
        await asked;
        await route.continue();
      });
    }
    await tab.goto(`${app.url}/console`);
    await tab.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await tab.close();
  });

  it('the page shows an error when the JavaScript of the console cannot be loaded', async () => {
    const tab = await driver.page.context().newPage();
    await tab.route('**/assets/app-*.js', (route) => route.abort());
    await tab.goto(`${app.url}/console`);
    await tab.getByText('The console could not be loaded').waitFor();
    await tab.close();
  });

  it('the console can be used by keyboard, with a skip link, a command palette, and / to search a page', async () => {
    await driver.goTo('/notifications');
    await driver.title('Notifications');
    await driver.page.keyboard.press('Tab');
    expect(await driver.page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await driver.page.locator('body').click({ position: { x: 700, y: 5 } });
    await driver.page.keyboard.press('/');
    expect(await driver.page.getByLabel('Booking code').evaluate((field) => field.matches(':focus'))).toBe(true);
    await driver.page.keyboard.press('Control+k');
    await driver.dialog('Search or go to a page').waitFor();
    await driver.page.keyboard.type('home');
    await driver.page.keyboard.press('Enter');
    await driver.title('Overview');
    await driver.link('Partners').first().focus();
    await driver.page.keyboard.press('Control+k');
    await driver.dialog('Search or go to a page').waitFor();
    await driver.page.keyboard.press('Escape');
    await driver.dialog('Search or go to a page').waitFor({ state: 'hidden' });
    await eventually(async () =>
      expect(await driver.page.evaluate('document.activeElement.textContent')).toBe('Partners'),
    );
  });

  it('if the browser asks for reduced motion, the console shows no transitions on pages and in dialogs', async () => {
    const fading = () =>
      driver.page.evaluate<number>(
        `[...document.querySelectorAll('body *')].filter((element) => parseFloat(getComputedStyle(element).transitionDuration) > 0).length`,
      );
    await driver.goTo('/partners');
    await driver.title('Partners');
    await driver.page.keyboard.press('Control+k');
    await driver.dialog('Search or go to a page').waitFor();
    expect(await fading()).toBeGreaterThan(10);
    await driver.page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await fading()).toBe(0);
    expect(await driver.page.evaluate('document.getAnimations().length')).toBe(0);
    await driver.page.emulateMedia({ reducedMotion: null });
    await driver.page.keyboard.press('Escape');
  });

  it('a form keeps its input when the session expires, and repeats its request after the new sign-in', async () => {
    // The test loads the options of the filters before the session expires. After that, the page requests only the
    // list.
    const options = ['accounts', 'subscriptions'].map((path) =>
      driver.page.waitForResponse((response) => new URL(response.url()).pathname.endsWith(`/admin/${path}`)),
    );
    await driver.goTo('/notifications');
    await driver.title('Notifications');
    await Promise.all(options);
    await driver.expire();
    await driver.page.getByLabel('Booking code').fill('TYPED12345');
    await driver.page.keyboard.press('Enter');
    const dialog = driver.dialog('Your session has ended');
    await dialog.waitFor();
    expect(await dialog.getByLabel('User name').inputValue()).toBe(driver.operator.username);
    await dialog.getByLabel('Password').fill('not the password');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'The user name or the password is wrong' }).waitFor();
    await driver.signInAgain();
    await driver.page.getByText('No entries match these filters.').waitFor();
    expect(await driver.page.getByLabel('Booking code').inputValue()).toBe('TYPED12345');
    expect(driver.refusals()).toEqual(['401 GET /admin/notifications', '403 POST /console/session']);
  });

  it('the console links to the API documentation, where routes can be called with the session, without a token', async () => {
    await driver.link('API documentation').click();
    const { page } = driver;
    const operation = page.locator('.opblock', { has: page.locator('[data-path="/admin/overview"]') });
    const tag = page.locator('.opblock-tag[data-tag="Administration"]');
    await tag.click();
    await operation.locator('.opblock-summary-control').click();
    const execute = async (): Promise<Record<string, string>> => {
      const [request] = await Promise.all([
        page.waitForRequest(`${app.url}/admin/overview`),
        operation.getByRole('button', { name: 'Execute' }).click(),
      ]);
      await operation.locator('.live-responses-table .response-col_status').first().waitFor();
      return request.allHeaders();
    };
    expect(await execute()).not.toHaveProperty('authorization');
    await operation.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
    await page.goto(`${app.url}/docs`);
    await tag.click();
    await operation.locator('.opblock-summary-control').click();
    expect(await execute()).not.toHaveProperty('cookie');
    await operation.locator('.live-responses-table .response-col_status', { hasText: '401' }).waitFor();
    expect(driver.refusals()).toEqual(['401 GET /admin/overview']);
  });

  it('the console passes the layout and accessibility checks on the home page and the page for an unknown address', async () => {
    await driver.goTo('');
    await driver.title('Overview');
    await driver.expectGoodPage('home-empty');
    await driver.goTo('/jobs/x/y/z');
    await driver.title('Page not found');
    await driver.expectGoodPage('not-found');
  });

  it('"Sign out everywhere" ends every session of the user, and no data is shown afterwards', async () => {
    const there = await driver.another();
    await there.page.close();
    await driver.goTo('');
    await driver.button('Sign out everywhere …').click();
    await driver.inDialog('Sign out everywhere').click();
    await driver.title('Sign in');
    expect(await driver.page.getByRole('navigation').count()).toBe(0);
    await driver.expectGoodPage('sign-in');
    await driver.button('Sign in').click();
    expect(await driver.page.locator('[aria-invalid="true"]').count()).toBe(2);
  });
});
