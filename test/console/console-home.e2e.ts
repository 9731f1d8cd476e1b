import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

/**
 * The time limit for counts to appear. A busy service updates its counts less often, so they may be several seconds
 * old.
 */
const COUNTED = { timeout: 50_000 };

describe('the home page of the console', () => {
  let app: TestApp;
  let driver: ConsoleDriver;
  let subscribed: Subscribed;

  beforeAll(async () => {
    app = await startApp();
    driver = await ConsoleDriver.start(app);
  });
  afterEach(() => driver.expectNoComplaints());
  afterAll(async () => {
    await driver?.stop();
    await subscribed?.stop();
    await app?.close();
  });

  const tile = (label: string) => driver.link(new RegExp(`^${label}`));
  const live = (state: string) => driver.page.locator('.live', { hasText: state }).waitFor();

  it('when no work waits for the operator, the home page shows that there are no problems', async () => {
    await driver.page.getByText('All is well.').waitFor();
    await live('Live');
    await driver.expectGoodPage('home-well');
  });

  it('the home page shows without a reload that deliveries to an UP partner fail, and how many notifications are undelivered', async () => {
    subscribed = await Subscribed.start(app);
    subscribed.partner.answer({ status: 400, body: ConsoleDriver.MARKUP });
    await subscribed.booking();
    await subscribed.booking();
    await eventually(async () => (await subscribed.queue()).length === 2);
    const trouble = driver.page.locator('.troubles li', { hasText: subscribed.partner.url });
    await trouble.getByText('FAILING').waitFor(COUNTED);
    expect((await subscribed.subscription())['health']).toBe('UP');
    await trouble.getByText('2 in the error queue').waitFor(COUNTED);
    await tile('Not delivered').getByText('2', { exact: true }).waitFor(COUNTED);
    await tile('Partners with problems').getByText('1', { exact: true }).waitFor(COUNTED);
    await driver.page.getByText('2 failed').waitFor(COUNTED);
    await driver.expectGoodPage('home');
  }, 120_000);

  it('the home page sends no requests while it is hidden, and is up to date when it is shown again', async () => {
    const see = (hidden: boolean) =>
      driver.page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await see(true);
    await live('Paused');
    await subscribed.booking();
    await eventually(async () => (await subscribed.queue()).length === 3);
    await see(false);
    await live('Live');
    await tile('Not delivered').getByText('3', { exact: true }).waitFor(COUNTED);
  }, 120_000);

  it('the home page links to each page on which work waits for the operator', async () => {
    await tile('Not delivered').click();
    await driver.title('Error queue');
    for (const [label, title] of [
      ['Partners with problems', 'Partners'],
      ['Unmatched results', 'Unmatched results'],
      ['Approvals waiting', 'Approvals'],
    ]) {
      await driver.page.goBack();
      await driver.title('Overview');
      await tile(label).click();
      await driver.title(title);
    }
  });
});
