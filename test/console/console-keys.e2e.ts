import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

describe('keyboard shortcuts of the console', () => {
  it('the ? key shows the list of keyboard shortcuts, but types a question mark in a field', async () => {
    await driver.goTo('/candidates');
    await driver.title('Candidates');
    await driver.page.keyboard.press('?');
    await driver.dialog('Keyboard shortcuts').getByText('Go to the first filter on the page').waitFor();
    await driver.expectGoodPage('keys');
    await driver.page.keyboard.press('Escape');
    await driver.dialog('Keyboard shortcuts').waitFor({ state: 'hidden' });
    await driver.page.keyboard.press('/');
    await driver.page.keyboard.press('?');
    expect(await driver.page.locator('input:focus').inputValue()).toBe('?');
  });
});

describe('unknown addresses below /console', () => {
  it.each(['/nothing', '/nothing/below/it', '/queue/nothing/here', '/assets/more/nothing'])(
    'the unknown console address %s shows the page "Page not found"',
    async (path) => {
      const response = await driver.page.goto(`${app.url}/console${path}`);
      expect([path, response!.status()]).toEqual([path, 200]);
      await driver.title('Page not found');
      await driver.link('Home').last().click();
      await driver.title('Overview');
    },
  );

  it('routes and missing assets below /console are answered with JSON, never with the page of the console', async () => {
    for (const path of ['/console/session', '/console/assets/nothing.js']) {
      const { headers } = await app.call('GET', path, { headers: { 'console-request': '1' } });
      expect([path, headers.get('content-type')]).toEqual([
        path,
        expect.stringMatching(/^application\/(problem\+)?json/),
      ]);
    }
  });
});

describe('a printed page', () => {
  it('the printed pages of a candidate and a notification show their data without buttons and navigation', async () => {
    const record = await app.given.eligibility(subscribed.scene, { candidate: { candidate_id: 'PRINTED' } });
    await app.given.booking(subscribed.scene, record);
    const [{ id }] = await eventually(async () => {
      const found = await subscribed.notifications('&state=DELIVERED');
      if (found.length === 0) throw new Error('No notification is delivered yet.');
      return found;
    });
    for (const path of [`/candidates/${subscribed.scene.account}/PRINTED`, `/notifications/${id}`]) {
      await driver.goTo(path);
      await driver.page.locator('.facts').first().waitFor();
      await driver.page.locator('main').getByRole('button').first().waitFor();
      await driver.page.emulateMedia({ media: 'print' });
      // No button is printed except the column headers, which are buttons as well.
      expect([path, await driver.page.locator('button:not(.sort):visible').count()]).toEqual([path, 0]);
      expect([path, await driver.page.getByRole('navigation').count()]).toEqual([path, 0]);
      await driver.page.locator('.facts').first().getByText('PRINTED').waitFor();
      await driver.page.emulateMedia({ media: 'screen' });
    }
  });
});
