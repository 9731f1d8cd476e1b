import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const MOST_OPEN = 4;

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  await queueMany(subscribed, 3);
  driver = await ConsoleDriver.start(app, '/queue/notifications');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const filters = () => driver.page.getByRole('search', { name: 'Filters' });
const chip = (name: string) => filters().getByRole('button', { name: `Remove ${name}`, exact: true });
const field = (label: string) => driver.page.getByLabel(label, { exact: true });
const parameter = (name: string) => new URL(driver.page.url()).searchParams.get(name);

describe('the filters above a list', () => {
  it.each(['/queue', '/queue/notifications', '/notifications', '/jobs', '/partners', '/candidates', '/audit'])(
    'the page %s shows at most four filters until the operator opens the hidden filters',
    async (path) => {
      await driver.goTo(path);
      await filters().locator('.field').first().waitFor();
      const shown = await filters().locator('.field').locator('visible=true').count();
      expect([path, shown > 0 && shown <= MOST_OPEN]).toEqual([path, true]);
    },
  );

  it('the "Filter" button opens the hidden filters, and each hidden filter that is set has a chip that can remove it', async () => {
    await driver.goTo('/queue/notifications');
    await driver.page.getByText('3 rows', { exact: true }).waitFor();
    await driver.button('Filter').click();
    await field('Event').selectOption({ label: 'Booking cancelled' });
    await driver.page.getByText('No entries match these filters.').waitFor();
    expect(parameter('change_reason')).toBe('BOOKING_CANCELLED');
    await driver.expectGoodPage('filters-open');
    await driver.page.keyboard.press('Escape');
    await field('Event').waitFor({ state: 'hidden' });
    expect(await driver.page.evaluate('document.activeElement.textContent')).toBe('Filter');
    await driver.page.reload();
    await chip('Event: Booking cancelled').waitFor();
    await driver.expectGoodPage('filters-chip');
    await chip('Event: Booking cancelled').focus();
    await driver.page.keyboard.press('Enter');
    await driver.page.getByText('3 rows', { exact: true }).waitFor();
    expect(parameter('change_reason')).toBeNull();
    expect(await filters().locator('.chip').count()).toBe(0);
    expect(await driver.page.evaluate('document.activeElement.textContent')).toBe('Filter');
  });

  it('a text filter in the "Filter" panel applies on Enter, or on a click outside the panel', async () => {
    await driver.goTo('/queue/notifications');
    for (const leave of [
      () => driver.page.keyboard.press('Enter'),
      () => driver.page.getByRole('heading', { level: 1 }).click(),
    ]) {
      await driver.button('Filter').click();
      await field('HTTP status').fill('418');
      await leave();
      await chip('HTTP status: 418').waitFor();
      await field('HTTP status').waitFor({ state: 'hidden' });
      await driver.button('Clear').click();
      await chip('HTTP status: 418').waitFor({ state: 'hidden' });
    }
  });

  it("a filter's chip shows an account by its name, and a time in the browser's time zone", async () => {
    await driver.goTo('/audit?from=2030-05-14T13:00:00Z');
    await chip('Time from: 14 May 2030, 09:00 GMT-4').waitFor();
    const { account } = subscribed.scene;
    await driver.goTo(`/notifications?account_code=${account}`);
    await chip(`Account: Board ${account}`).waitFor();
  });
});
