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

describe('changes of records in the console', () => {
  it("an operator can choose which record changes a partner receives, and the partner's page lists them", async () => {
    await driver.goTo(`/partners/${subscribed.id}/settings`);
    const group = driver.page.getByRole('group', { name: 'Changes of records' });
    await group.getByLabel('Record created').check();
    await group.getByLabel('Result held').check();
    await driver.expectGoodPage('partner-settings-record-changes');
    await driver.button('Save').click();
    await driver.told('The settings were changed.');
    expect((await subscribed.subscription())['record_changes']).toEqual(['CREATED', 'RESULT_HELD']);
    await driver.page.getByText('Record created, Result held').waitFor();
  });

  it('the error queue and the notification page show which record changed, and how it changed', async () => {
    subscribed.partner.answer({ status: 400 });
    const record = await app.given.eligibility(subscribed.scene);
    const id = record['svc_eligiblity_id'] as string;
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
    await driver.goTo('/queue/notifications?change_reason=CREATED');
    const row = driver.page.getByRole('row').filter({ hasText: id });
    await row.getByText('Record created').waitFor();
    await driver.expectGoodPage('queue-record-change');
    await row.getByRole('link', { name: id }).click();
    await driver.openPage();
    await driver.title(`Record created ${id}`);
    await driver.page.getByText('All events for this record, oldest first').waitFor();
    await driver.expectGoodPage('notification-record-change');
    await driver.link('All notifications of this record').click();
    await driver.page.getByRole('row').filter({ hasText: id }).waitFor();
  });
});
