import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { BulkJobs, queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let quick: Subscribed;
let slow: Subscribed;
let failing: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  quick = await Subscribed.start(app, { name: 'Quick' });
  slow = await Subscribed.start(app, { name: 'Slow' }, { scene: quick.scene });
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await quick?.stop();
  await slow?.stop();
  await failing?.stop();
  await app?.close();
});

describe('the page of a job', () => {
  it('the rows of a running job are updated together with its counts', async () => {
    await queueMany(quick, 1);
    await queueMany(slow, 1);
    const gates = [quick, slow].map(({ partner }) => {
      let open = () => {};
      const opened = new Promise<void>((resolve) => (open = resolve));
      partner.answer(() => opened.then(() => ({ status: 200 })));
      return open;
    });
    const jobs = new BulkJobs(app, quick.operator);
    const job = await jobs.start('error-queue/resend', { filter: { account_code: quick.scene.account } });
    await driver.goTo(`/jobs/${job}`);
    const row = (text: string) => driver.page.getByRole('row').filter({ hasText: text });
    await row('Quick').getByText('SENT').waitFor();
    gates[0]();
    await driver.page.getByText('1 delivered').waitFor();
    await row('Quick').getByText('DELIVERED').waitFor();
    await driver.page.locator('.page-head', { hasText: 'RUNNING' }).waitFor();
    gates[1]();
    await driver.page.locator('.page-head', { hasText: 'DONE' }).waitFor();
    await row('Slow').getByText('DELIVERED').waitFor();
  });
});

describe('the latest answer of a failing partner', () => {
  it("the latest answer of a failing partner is one click away from the partner's page and from the error queue", async () => {
    failing = await Subscribed.start(app, { name: 'Failing' });
    failing.partner.answer({ status: 400, body: 'The board knows no such exam' });
    await failing.booking();
    const answer = driver.dialog('Partner’s latest answer').getByText('The board knows no such exam');
    await driver.goTo(`/partners/${failing.id}`);
    await driver.button('Show the latest answer').click();
    await answer.waitFor();
    await driver.expectGoodPage('latest-answer');
    await driver.inDialog('Close').click();
    await driver.goTo('/queue');
    await driver.button('Show the latest answer').click();
    await answer.waitFor();
    await driver.link(/^[A-Z0-9]{10}$/).click();
    await driver.title(/^Booking created/);
  });
});
