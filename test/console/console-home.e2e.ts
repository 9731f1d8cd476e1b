import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

/**
 * The time limit for counts to appear. A busy service updates its counts less often, so the counts that a page shows
 * may be several seconds old.
 */
const COUNTED = { timeout: 50_000 };

describe('the home page of the console', () => {
  let app: TestApp;
  let driver: ConsoleDriver;
  let subscribed: Subscribed;
  let healthy: Subscribed;

  beforeAll(async () => {
    app = await startApp();
    driver = await ConsoleDriver.start(app);
  });
  afterEach(() => driver.expectNoComplaints());
  afterAll(async () => {
    await driver?.stop();
    await subscribed?.stop();
    await healthy?.stop();
    await app?.close();
  });

  const tile = (label: string) => driver.link(new RegExp(`^${label}`));
  const live = (state: string) => driver.page.locator('.live', { hasText: state }).waitFor();

  it('when no work is waiting for the operator, the home page shows that there are no problems', async () => {
    await driver.page.getByText('All is well.').waitFor();
    await live('Live');
    await driver.expectGoodPage('home-well');
  });

  it('without a reload, the home page shows that deliveries to an UP partner fail and how many notifications are undelivered', async () => {
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

  it('each count of open work on the home page links to a list of exactly the items that it counts', async () => {
    const { scene } = subscribed;
    healthy = await Subscribed.start(app, {}, { scene });
    const special_accommodations = [await app.given.accommodation(scene.account, true)];
    for (let made = 0; made < 2; made++) await app.given.eligibility(scene, { candidate: { special_accommodations } });
    const held = await app.given.eligibility(scene);
    await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/hold`, { reason: 'Identity' });
    await new Deliveries(app).register(scene.token, registrationBody());
    const cell = (text: string) => driver.page.getByRole('cell', { name: text, exact: true });
    const rows = (text: string) => driver.page.getByText(text, { exact: true });
    for (const [label, count, title, counted] of [
      ['Not delivered', '3', 'Error queue', cell('3')],
      ['Partners with problems', '1', 'Partners', rows('1 row')],
      ['Unmatched results', '1', 'Unmatched results', rows('1 row')],
      ['Approvals waiting', '2', 'Approvals', rows('2 rows')],
      ['Records on hold', '1', 'Holds', rows('1 row')],
    ] as const) {
      await driver.goTo('');
      await tile(label).getByText(count, { exact: true }).waitFor(COUNTED);
      await tile(label).click();
      await driver.title(title);
      await counted.waitFor();
    }
  }, 120_000);

  it('the list of partners can be limited to partners that are failing or down', async () => {
    await driver.goTo('/partners');
    await driver.page.getByText('2 rows', { exact: true }).waitFor();
    await driver.page.getByLabel('Status', { exact: true }).selectOption({ label: 'Failing or down' });
    await driver.page.getByText('1 row', { exact: true }).waitFor();
    await driver.link(subscribed.partner.url).waitFor();
    await driver.expectGoodPage('partners-failing');
  });

  it('the count of failed attempts on the home page is not a link, because no list shows exactly these attempts', async () => {
    await driver.goTo('');
    await driver.page.getByText('3 failed').waitFor(COUNTED);
    expect(await driver.link('3 failed').count()).toBe(0);
  });
});
