import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

/**
 * The time limit for a note to appear. The limit is shorter than the times that the tests skip with the browser's
 * clock, so a note cannot appear just because real time has passed.
 */
const AT_ONCE = { timeout: 5_000 };
const SILENT_MS = 10_000;
const CALL_MS = 15_000;
/** The longest pause between two attempts to open the event stream. */
const AGAIN_MS = 15_000;

describe('a service that stops answering', () => {
  let app: TestApp;
  let subscribed: Subscribed;
  let driver: ConsoleDriver;

  beforeAll(async () => {
    app = await startApp();
    subscribed = await Subscribed.start(app, { name: 'The board' });
    driver = await ConsoleDriver.start(app, '/partners');
    await driver.page.clock.install();
  });
  afterAll(async () => {
    await driver?.stop();
    await subscribed?.stop();
    await app?.close();
  });

  const note = () =>
    driver.page.getByRole('status').filter({ hasText: /^No live updates since \d+ \w+ \d{4}, \d\d:\d\d/ });
  const alert = () => driver.page.getByRole('alert').filter({ hasText: 'The service cannot be reached' }).first();

  it.each([
    ['/partners', 'The board'],
    ['/queue', 'The error queue is empty'],
  ])(
    'after ten seconds without data from the event stream, the page %s shows when its live updates stopped',
    async (path, content) => {
      await driver.goTo(path);
      await driver.page.locator('main').getByText(content).first().waitFor();
      expect(await note().count()).toBe(0);
      // The queries of the event stream wait for a lock that the test holds, so that the stream stays open and sends
      // nothing.
      const release = await app.given.lock('LOCK TABLE error_queue_causes IN ACCESS EXCLUSIVE MODE');
      try {
        await driver.page.clock.fastForward(SILENT_MS);
        await note().waitFor(AT_ONCE);
        await driver.expectGoodPage(`not-live${path.replace('/', '-')}`);
      } finally {
        await release();
      }
      await driver.page.clock.fastForward(AGAIN_MS);
      await note().waitFor({ state: 'detached', timeout: 60_000 });
    },
    180_000,
  );

  it('a request that the service does not answer times out, and is repeated only after "Try again"', async () => {
    const pattern = /\/admin\/audit\?/;
    let requests = 0;
    await driver.page.route(pattern, () => void requests++);
    // The request for the event stream stays unanswered. If the stream opened again, the console would load all data
    // again, and would repeat the request under test.
    const stream = /\/admin\/events$/;
    await driver.page.route(stream, () => undefined);
    try {
      await driver.goTo('/audit');
      await driver.title('Audit');
      await eventually(() => expect(requests).toBe(1));
      // The router has sent this request. If it failed before the list appears, the list would repeat it at once.
      await driver.page.getByRole('region', { name: 'Rows' }).getByText('Loading …').waitFor();
      await driver.page.clock.fastForward(CALL_MS);
      await alert().waitFor(AT_ONCE);
      expect(requests).toBe(1);
      await driver.expectGoodPage('service-silent');
    } finally {
      await driver.page.unroute(pattern);
      await driver.page.unroute(stream);
    }
    await alert().getByRole('button', { name: 'Try again' }).click();
    await driver.page.getByRole('region', { name: 'Rows' }).getByRole('table').waitFor();
  }, 120_000);

  it('a page shows that the service has stopped, and loads after "Try again" once the service runs again', async () => {
    const { port } = new URL(app.url);
    const server = app.app.getHttpServer();
    await driver.goTo('/partners');
    await driver.link('The board').waitFor();
    server.close();
    server.closeAllConnections();
    try {
      await note().waitFor(AT_ONCE);
      await driver.page.getByLabel('Status', { exact: true }).selectOption({ label: 'Failing or down' });
      await alert().waitFor();
    } finally {
      await new Promise<void>((resolve) => server.listen(Number(port), '127.0.0.1', resolve));
    }
    await alert().getByRole('button', { name: 'Try again' }).click();
    await driver.page.locator('main').getByText('No partner is failing or down.').waitFor();
    await driver.page.clock.fastForward(AGAIN_MS);
    await note().waitFor({ state: 'detached', timeout: 60_000 });
  }, 120_000);
});
