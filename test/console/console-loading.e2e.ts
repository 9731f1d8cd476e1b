import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const SLOW_MS = 1200;

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
let candidate: string;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  await queueMany(subscribed, 60);
  candidate = (await app.given.eligibility(subscribed.scene))['candidate'].candidate_id as string;
  driver = await ConsoleDriver.start(app);
  await driver.page.addInitScript(`
    window.moved = [];
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput, sources } of list.getEntries())
        // The test ignores layout shifts with a lower score, because these only mean that a dot has moved by less than
        // its own width.
        if (!hadRecentInput && value >= 0.0001) window.moved.push(...sources.map(({ node }) => value.toFixed(4) + ' ' + (node?.outerHTML ?? '').slice(0, 120)));
    }).observe({ type: 'layout-shift', buffered: true });`);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

/** Delays every response of the API except the event stream. */
async function answerSlowly(): Promise<void> {
  await driver.page.route(/\/admin\/(?!events)/, async (route) => {
    await pause(SLOW_MS);
    await route.continue().catch(() => undefined);
  });
}

const loading = () => driver.page.locator('main').getByRole('status').filter({ hasText: 'Loading …' });
const moved = () => driver.page.evaluate<string[]>('window.moved');

/** Checks that the page shows that it is loading, and that no part of it moves when its data appears. */
async function expectLoading(path: string, content: string): Promise<void> {
  await loading().first().waitFor();
  await eventually(async () =>
    expect(await driver.page.evaluate(`getComputedStyle(document.querySelector('main .loading')).opacity`)).toBe('1'),
  );
  await driver.page.locator(content).first().waitFor();
  await eventually(async () => expect([path, await loading().count()]).toEqual([path, 0]));
  await driver.page.waitForTimeout(100);
  expect([path, await moved()]).toEqual([path, []]);
}

const CONTENT = 'main table.table, main .tiles, main .empty, main .facts';

describe('a page that is loading', () => {
  beforeAll(() => answerSlowly());
  afterAll(() => driver.page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('the console shows that a page is loading, without a layout shift when the responses arrive', async () => {
    for (const path of [
      '',
      '/queue',
      '/queue/notifications',
      '/notifications',
      '/jobs',
      '/partners',
      `/partners/${subscribed.id}`,
      `/candidates?q=${candidate}`,
      `/candidates/${subscribed.scene.account}/${candidate}`,
      '/work/approvals',
      '/work/holds',
      '/work/unmatched',
      '/work/imports',
      '/setup',
      `/setup/accounts/${subscribed.scene.account}/tests`,
      '/setup/users',
      '/setup/applications',
      '/setup/alerts',
      '/audit',
    ]) {
      await driver.goTo(path);
      await expectLoading(path, CONTENT);
    }
  }, 180_000);

  it('the page shows the name of the product until its scripts have loaded and the session is known', async () => {
    const shown: string[] = [];
    for (const part of [/\/assets\/app-.*\.js$/, /\/console\/session$/]) {
      let release = () => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      await driver.page.route(part, async (route) => {
        await held;
        await route.continue();
      });
      await driver.page.reload({ waitUntil: 'commit' });
      shown.push((await driver.page.locator('.splash').textContent()) ?? '');
      release();
      await driver.page.locator('.splash').waitFor({ state: 'detached' });
      await driver.page.unroute(part);
    }
    expect(shown).toEqual(['Admit', 'Admit']);
  });

  it('the browser loads at most 500 kB of scripts before it shows the first page', async () => {
    await driver.page.reload();
    await driver.page.locator('main h1').waitFor();
    const bytes = await driver.page.evaluate<number>(`performance
      .getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js'))
      .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)`);
    expect(bytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThan(500_000);
  });

  it.each([
    ['', 'Overview', /\/admin\/overview$/],
    ['/queue', 'Error queue', /\/admin\/error-queue\/summary$/],
  ])(
    'the data of the page "%s" is requested once, while the scripts of the page still load',
    async (path, title, data) => {
      const requests: string[] = [];
      const note = (request: { url(): string }) => void (data.test(request.url()) && requests.push(request.url()));
      driver.page.on('request', note);
      let release = () => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      await driver.page.route(/\/assets\/app-.*\.js$/, async (route) => {
        await held;
        await route.continue();
      });
      await driver.page.goto(`${app.url}/console${path}`, { waitUntil: 'commit' });
      await eventually(() => Promise.resolve(expect(requests).toHaveLength(1)));
      release();
      await driver.title(title);
      await loading().waitFor({ state: 'detached' });
      expect(requests).toHaveLength(1);
      driver.page.off('request', note);
      await driver.page.unroute(/\/assets\/app-.*\.js$/);
    },
  );

  it('a list shows its previous rows dimmed while the rows for a new filter load', async () => {
    await driver.goTo('/queue/notifications');
    const rows = driver.page.locator('main tbody tr');
    await rows.first().waitFor();
    await driver.page.getByLabel('Failure').selectOption('tls');
    await driver.page.locator('.list.waiting').waitFor();
    expect(await rows.count()).toBe(50);
    await driver.page.getByText('No entries match these filters.').waitFor();
    expect(await driver.page.locator('.list.waiting').count()).toBe(0);
  });
});
