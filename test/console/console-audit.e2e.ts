import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';

let app: TestApp;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  driver = await ConsoleDriver.start(app, '/audit');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver.stop();
  await app.close();
});

const rows = () => driver.page.getByRole('row').count();

describe('the audit page', () => {
  it('the audit page keeps its filters in the address, which can be shared, and supports the back button', async () => {
    const scene = await app.given.scene();
    const { svc_eligiblity_id: id } = await app.given.eligibility(scene);
    await driver.goTo('/audit');
    await driver.title('Audit');
    await driver.link('eligibility.create').first().click();
    await driver.page.waitForURL(/action=eligibility\.create/);
    await driver.page.getByLabel('Subject').fill(id as string);
    await driver.page.keyboard.press('Enter');
    await driver.page.waitForURL(new RegExp(`subject=${id}`));
    await driver
      .link(id as string)
      .first()
      .waitFor();
    await eventually(async () => expect(await rows()).toBe(2));
    await driver.expectGoodPage('audit');
    const address = driver.page.url();
    await driver.page.goto('about:blank');
    await driver.page.goto(address);
    await driver
      .link(id as string)
      .first()
      .waitFor();
    await eventually(async () => expect(await rows()).toBe(2));
    await driver.link('eligibility.create').first().click();
    await driver.page.waitForURL((url) => !url.search.includes('subject'));
    await driver.page.goBack();
    await driver.page.waitForURL(new RegExp(`subject=${id}`));
  });

  it('the audit page shows the state of the seals, and whether the audit log was changed', async () => {
    await driver.goTo('/audit');
    const seals = driver.page.getByRole('region', { name: 'Seals' });
    await seals.getByText('AGREES').waitFor();
    await app.given.sql('ALTER TABLE audit_log DISABLE TRIGGER USER');
    // The test waits for the first seal of the audit log, which may not exist yet.
    const changed = await eventually(async () => {
      const rows = await app.given.sql(
        `UPDATE audit_log SET actor = 'nobody' WHERE id = (SELECT (ids)[1] FROM audit_seals ORDER BY seal_id DESC LIMIT 1)
         RETURNING id`,
      );
      return rows.length > 0 && rows;
    });
    expect(changed).toHaveLength(1);
    await app.given.sql('ALTER TABLE audit_log ENABLE TRIGGER USER');
    await driver.page.reload();
    await seals.getByText('DISAGREES').waitFor();
    await seals.getByText(/the row was changed/).waitFor();
    await driver.expectGoodPage('audit-disagrees');
  });
});
