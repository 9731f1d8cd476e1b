import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { Subscribed } from '../support/subscribed';

describe('a service that stops answering', () => {
  let app: TestApp;
  let subscribed: Subscribed;
  let driver: ConsoleDriver;

  beforeAll(async () => {
    app = await startApp();
    subscribed = await Subscribed.start(app, { name: 'The board' });
    driver = await ConsoleDriver.start(app, '/partners');
  });
  afterAll(async () => {
    await driver?.stop();
    await subscribed?.stop();
    await app?.close();
  });

  it('while the event stream is open but silent, the console shows when live updates stopped', async () => {
    await driver.link('The board').waitFor();
    const note = driver.page.getByRole('status').filter({ hasText: /^No live updates since \d+ \w+ \d{4}, \d\d:\d\d/ });
    expect(await note.count()).toBe(0);
    // The queries of the event stream wait for a lock that the test holds, so that the stream stays open and sends
    // nothing.
    const release = await app.given.lock('LOCK TABLE error_queue_causes IN ACCESS EXCLUSIVE MODE');
    try {
      await note.waitFor({ timeout: 60_000 });
      await driver.expectGoodPage('not-live');
    } finally {
      await release();
    }
    await note.waitFor({ state: 'detached', timeout: 60_000 });
  }, 180_000);
});
