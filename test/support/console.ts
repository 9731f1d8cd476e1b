import { deepStrictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Locator } from 'playwright-core';
import { SCOPES } from '../../src/platform/context/caller';
import type { TestApp } from './app';
import { openPage, startBrowser, type WatchedPage } from './browser';
import { OAuth, type Login } from './oauth';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
/**
 * The folder to which screenshots of the pages are written, in both widths and both themes. If it is not set, no
 * screenshots are written.
 */
const PICTURES = process.env['CONSOLE_PICTURES'];

/**
 * Drives the console as an operator in a real browser. Checks that texts from partners and candidates are never
 * interpreted as markup.
 */
export class ConsoleDriver {
  /** A name that would do harm if it were interpreted as markup. The pictures of the documents show a plain name. */
  static readonly MARKUP = PICTURES ? 'Northfield' : '<img src=x onerror="window.hacked = true">';

  /** The labels of the controls that the simulated operator has clicked. */
  readonly clicks: string[] = [];

  private constructor(
    readonly app: TestApp,
    readonly browser: Browser,
    private readonly watched: WatchedPage,
    readonly operator: Login,
  ) {}

  /** Opens `path` of the console in a new browser, and signs in as a new operator. */
  static async start(app: TestApp, path = '', options: BrowserContextOptions = {}): Promise<ConsoleDriver> {
    const browser = await startBrowser();
    const operator = await new OAuth(app).login({ scopes: SCOPES });
    const driver = new ConsoleDriver(app, browser, await openPage(browser, { ...WINDOW, ...options }), operator);
    await driver.page.exposeFunction('clickedOn', (text: string) => void driver.clicks.push(text));
    await driver.page.addInitScript(
      `addEventListener('click', ({ target }) => clickedOn(target.closest('a, button')?.textContent ?? target.tagName), { capture: true })`,
    );
    await driver.goTo(path);
    await driver.signIn();
    return driver;
  }

  /** Signs in a second operator, or another user, in a separate browser. */
  async another(path = '', user: Parameters<OAuth['login']>[0] = { scopes: SCOPES }): Promise<ConsoleDriver> {
    return this.visitor(path, await new OAuth(this.app).login(user));
  }

  /** Signs in an existing user in a separate browser. */
  async visitor(path: string, user: Login): Promise<ConsoleDriver> {
    const driver = new ConsoleDriver(this.app, this.browser, await openPage(this.browser, WINDOW), user);
    await driver.goTo(path);
    await driver.signIn();
    return driver;
  }

  get page() {
    return this.watched.page;
  }

  async stop(): Promise<void> {
    await this.browser.close();
  }

  /**
   * Opens a page of the console.
   * @param path the path below `/console`, such as `/queue?retry=MANUAL`
   */
  async goTo(path: string): Promise<void> {
    await this.page.goto(`${this.app.url}/console${path}`);
  }

  async signIn({ username, password }: { username: string; password: string } = this.operator): Promise<void> {
    await this.page.getByLabel('User name').fill(username);
    await this.page.getByLabel('Password').fill(password);
    await this.button('Sign in').click();
    await this.page.getByRole('navigation', { name: 'Areas' }).or(this.page.getByRole('alert')).first().waitFor();
  }

  /** Ends the operator's session as the idle timeout would end it. The page notices this at its next request. */
  async expire(): Promise<void> {
    await this.app.given.sql(
      `UPDATE access_tokens SET expires_at = now() - interval '1 second'
       WHERE family_id IN (SELECT family_id FROM token_families WHERE username = $1)`,
      [this.operator.username],
    );
  }

  /** Signs in through the dialog that appears over the page when its session has ended. */
  async signInAgain(): Promise<void> {
    const dialog = this.dialog('Your session has ended');
    await dialog.getByLabel('Password').fill(this.operator.password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  link(name: string | RegExp): Locator {
    return this.page.getByRole('link', { name });
  }

  dialog(name?: string | RegExp): Locator {
    return this.page.getByRole('dialog', { name }).or(this.page.getByRole('alertdialog', { name }));
  }

  inDialog(name: string | RegExp): Locator {
    return this.dialog().getByRole('button', { name });
  }

  /** Opens the page of the item that is open beside a list, and waits until the list is gone. */
  async openPage(): Promise<void> {
    const item = this.page.getByRole('complementary', { name: 'Item details' });
    await item.getByRole('link', { name: 'Open page' }).click();
    await item.waitFor({ state: 'detached' });
  }

  /** Waits until the page has the given heading. */
  title(name: string | RegExp): Promise<void> {
    return this.page.getByRole('heading', { level: 1, name }).waitFor();
  }

  /** Waits until the page shows the given status message. */
  told(text: string | RegExp): Promise<void> {
    return this.page.getByRole('status').filter({ hasText: text }).first().waitFor();
  }

  /** Returns the responses with a status of 400 and above since the last call, as `status METHOD path`. */
  refusals(): string[] {
    return this.watched.refusals.splice(0);
  }

  /** Checks that there were no errors, and that no injected script ran. Call this method after each test. */
  async expectNoComplaints(): Promise<void> {
    // Aborted requests are ignored, because the browser aborts a page's requests when the page is left.
    const complaints = this.watched.complaints.splice(0).filter((text) => !text.endsWith('net::ERR_ABORTED'));
    deepStrictEqual(complaints, []);
    deepStrictEqual(await this.page.evaluate('window.hacked'), undefined);
  }

  /**
   * Checks the rules that every page must follow. In the light and the dark theme, axe finds no violation at widths of
   * 1280 and 360 px. The page never scrolls sideways, even at 200 % zoom (640 px). Every control has a name. Markup in
   * texts from partners or candidates appears only as text.
   */
  async expectGoodPage(name: string): Promise<void> {
    const { page } = this;
    await page.locator('.splash').waitFor({ state: 'detached' });
    for (const note of await page.getByText(/^Loading …$/).all()) await note.waitFor({ state: 'hidden' });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const width of [1280, 640, 360]) {
        await page.setViewportSize({ width, height: 900 });
        await page.waitForTimeout(50);
        if (width !== 640)
          deepStrictEqual([name, colorScheme, width, await this.violations()], [name, colorScheme, width, []]);
        const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
        deepStrictEqual([name, width, over], [name, width, 0]);
        if (PICTURES && width !== 640)
          await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}-${width}.png`, fullPage: true });
      }
    }
    await page.emulateMedia({ colorScheme: null, reducedMotion: null });
    await page.setViewportSize(WINDOW.viewport);
    const nameless = await page.evaluate<string[]>(`
      [...document.querySelectorAll('input, select, textarea')]
        .filter((control) => !control.labels?.length && !control.getAttribute('aria-label'))
        .concat([...document.querySelectorAll('button, a, summary, legend')].filter((control) => !control.textContent.trim()))
        .map((control) => control.outerHTML)`);
    deepStrictEqual([name, nameless], [name, []]);
    deepStrictEqual(await page.locator('main img').count(), 0);
    await this.expectNoComplaints();
  }

  private async violations(): Promise<string[]> {
    // axe is injected over the debugger's connection, because the page's content security policy forbids foreign
    // scripts.
    if (await this.page.evaluate('window.axe === undefined')) await this.page.evaluate(AXE);
    // The live announcer is excluded, because it may refer to a button that has disappeared.
    return this.page.evaluate<string[]>(`
      axe.run({ exclude: ['[data-live-announcer]'] }, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`);
  }
}

const WINDOW = { viewport: { width: 1280, height: 900 }, locale: 'en-US' };
