import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const ROWS = 60;
/** The headers of those table columns whose cells contain buttons instead of data. */
const DEEDS = ['Action', 'Actions', 'Read'];

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
let candidate: string;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  await queueMany(subscribed, ROWS);
  candidate = (await app.given.eligibility(subscribed.scene))['candidate'].candidate_id as string;
  driver = await ConsoleDriver.start(app, '/queue/notifications');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const focused = (property: string) => driver.page.evaluate<string>(`document.activeElement.${property}`);
const scrolled = () => driver.page.evaluate<number>('Math.round(scrollY)');
const links = () => driver.page.locator('main tbody td.main a');

describe('a list of the console', () => {
  it("a list keeps its scroll position and its loaded rows when the operator opens an item's page and goes back", async () => {
    // Delays the response until the page has opened its event stream. The page then cancels the request and repeats it.
    await driver.page.route(
      /cursor=/,
      async (route) => {
        await pause(2500);
        await route.continue().catch(() => undefined);
      },
      { times: 1 },
    );
    await driver.goTo('/queue/notifications');
    await driver.button('Show more').click();
    await driver.page.getByText(`${ROWS} rows`).waitFor();
    await links()
      .nth(ROWS - 5)
      .scrollIntoViewIfNeeded();
    await driver.page.waitForTimeout(200);
    const place = await scrolled();
    expect(place).toBeGreaterThan(500);
    await links()
      .nth(ROWS - 5)
      .click();
    await driver.title(/^Booking created/);
    expect(await scrolled()).toBe(place);
    await driver.openPage();
    await eventually(async () => expect(await scrolled()).toBe(0));
    await driver.page.goBack();
    await driver.title('Notifications in the error queue');
    await eventually(async () => expect(await scrolled()).toBe(place));
    expect(await links().count()).toBe(ROWS);
  });

  it('a list can be used by keyboard alone: keys select rows, Escape closes a dialog, and the focus returns to the list', async () => {
    await driver.goTo('/queue/notifications');
    await links().first().waitFor();
    await driver.page.getByLabel('All rows shown').focus();
    // In the tab order, the column headers, which sort the list, come before the rows.
    const headers = await driver.page.locator('th .sort').count();
    for (let tabs = 0; tabs <= headers; tabs++) await driver.page.keyboard.press('Tab');
    expect(await focused('type')).toBe('checkbox');
    await driver.page.keyboard.press('Space');
    await driver.page.getByText('1 selected').waitFor();
    await driver.page.keyboard.press('Tab');
    expect(await focused('tagName')).toBe('A');
    for (const name of ['Resend selected …', 'Resend …']) {
      await driver.button(name).focus();
      await driver.page.keyboard.press('Enter');
      await driver.dialog().waitFor();
      // The keyboard focus stays in the open dialog, regardless of how often Tab is pressed.
      for (let press = 0; press < 8; press++) await driver.page.keyboard.press('Tab');
      expect(await driver.page.evaluate(`document.activeElement.closest('[role$="dialog"]') !== null`)).toBe(true);
      await driver.page.keyboard.press('Escape');
      await driver.dialog().waitFor({ state: 'hidden' });
      await eventually(async () => expect(await focused('textContent')).toBe(name));
    }
    await links().first().focus();
    await driver.page.keyboard.press('Enter');
    await driver.title(/^Booking created/);
    expect(await focused('tagName')).toBe('H1');
  });

  it('every page with a list shows the number of rows, a choice of columns and a CSV download', async () => {
    const { account } = subscribed.scene;
    const catalogue = ['tests', 'schools', 'accommodations', 'attribute-keys', 'vouchers'];
    const lists: [path: string, count: number][] = [
      ['/queue', 1],
      ['/queue/notifications', 1],
      ['/jobs', 1],
      ['/notifications', 1],
      ['/partners', 1],
      [`/candidates?q=${candidate}`, 1],
      ['/work/approvals', 1],
      ['/work/holds', 1],
      ['/work/unmatched', 1],
      ['/work/imports', 1],
      ['/setup', 1],
      ...catalogue.map((kind): [string, number] => [`/setup/accounts/${account}/${kind}`, 1]),
      ['/setup/users', 1],
      ['/setup/applications', 1],
      ['/setup/alerts', 1],
      ['/audit', 1],
    ];
    // The timeline of a candidate is one list without columns.
    lists.push([`/candidates/${account}/${candidate}`, 0]);
    for (const [path, count] of lists) {
      await driver.goTo(path);
      for (const [name, expected] of [
        ['Columns', count],
        ['CSV', 1],
      ] as const)
        await eventually(async () =>
          expect([path, name, await driver.button(name).count()]).toEqual([path, name, expected]),
        );
      // The CSV file has no column for the actions of a row.
      for (const button of await driver.button('CSV').all()) {
        const [file] = await Promise.all([driver.page.waitForEvent('download'), button.click()]);
        const [header] = readFileSync(await file.path(), 'utf8').split('\r\n');
        expect([path, DEEDS.filter((name) => header.endsWith(`,${name}`))]).toEqual([path, []]);
      }
      // A page with a list shows rows, or explains why the list is empty.
      const shown = driver.page.locator('main').locator('table.table, .empty');
      expect([path, (await shown.count()) >= count]).toEqual([path, true]);
    }
  }, 120_000);

  it('an operator can copy an id from a list to the clipboard', async () => {
    await driver.page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.url });
    await driver.goTo('/queue/notifications');
    await driver.button('Columns').click();
    await driver.page.getByRole('menuitemcheckbox', { name: 'webhook-id' }).click();
    await driver.page.keyboard.press('Escape');
    const cell = driver.page
      .getByRole('cell')
      .filter({ has: driver.button('Copy') })
      .first();
    await cell.getByRole('button', { name: 'Copy' }).click();
    await driver.told('Copied.');
    expect(await driver.page.evaluate('navigator.clipboard.readText()')).toBe(await cell.locator('code').textContent());
  });

  it('a page shows that its list could not be loaded, and loads the list after "Try again"', async () => {
    await app.given.sql('ALTER TABLE audit_log RENAME TO audit_log_away');
    try {
      await driver.goTo('/audit');
      const rows = driver.page.getByRole('region', { name: 'Rows' });
      await rows
        .getByRole('alert')
        .getByText(/Request id/)
        .waitFor();
      await driver.expectGoodPage('audit-failed');
      await app.given.sql('ALTER TABLE audit_log_away RENAME TO audit_log');
      await rows.getByRole('button', { name: 'Try again' }).click();
      await rows.getByRole('table').waitFor();
    } finally {
      await app.given.sql('ALTER TABLE IF EXISTS audit_log_away RENAME TO audit_log');
    }
    expect(new Set(driver.refusals())).toEqual(new Set(['500 GET /admin/audit', '500 GET /admin/audit/seals']));
  });

  it('a list keeps its rows when a refresh fails, and shows their age', async () => {
    await driver.goTo('/queue/notifications');
    await driver.button('Show more').waitFor();
    await app.given.sql('ALTER TABLE notifications RENAME TO notifications_away');
    try {
      await driver.button('Show more').click();
      await driver.page.getByText('This data is not up to date').waitFor();
      expect(await links().count()).toBe(50);
      await driver.expectGoodPage('queue-stale');
    } finally {
      await app.given.sql('ALTER TABLE notifications_away RENAME TO notifications');
    }
    await driver.button('Try again').click();
    await driver.page.getByText('This data is not up to date').waitFor({ state: 'hidden' });
    // The console preloads the candidate to which the link under the pointer leads. The candidates of these
    // notifications have no records, so the response is 404.
    const expected = /^(500 GET |404 GET .*\/candidates\/)/;
    expect(driver.refusals().filter((refusal) => !expected.test(refusal))).toEqual([]);
  });
});
