import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { MailServer } from '../support/mail-server';

let mail: MailServer;
let app: TestApp;
let driver: ConsoleDriver;

beforeAll(async () => {
  mail = await MailServer.start();
  app = await startApp({ env: mail.settings });
  driver = await ConsoleDriver.start(app, '/setup/alerts');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver.stop();
  await app.close();
  await mail.stop();
});

const inDialog = (label: string) => driver.dialog().getByLabel(label).first();
const row = (name: string) => driver.page.getByRole('row').filter({ hasText: name });

describe('the page of alerts', () => {
  it('an operator can create an e-mail alert, send a test message, change the alert and delete it', async () => {
    await driver.title('Alerts');
    await driver.expectGoodPage('setup-alerts-none');
    await driver.button('New alert …').click();
    await driver.inDialog('Save').click();
    await driver.dialog().getByText('Required.').waitFor();
    await inDialog('Name').fill('On call');
    await inDialog('Recipients').fill('nobody');
    await driver.inDialog('Save').click();
    await driver
      .dialog()
      .getByText('Must be an e-mail address.')
      .or(driver.dialog().locator('.fault'))
      .first()
      .waitFor();
    await inDialog('Recipients').fill('ada@example.org\nbob@example.org');
    await driver.expectGoodPage('setup-alert-new');
    await driver.inDialog('Save').click();
    await driver.told('Saved.');
    await row('On call').getByText('ada@example.org, bob@example.org').waitFor();
    await driver.button('Send a test message for On call').click();
    await driver.told('The test message was delivered.');
    expect((await mail.received(/This is a test of the alert On call/)).recipients).toHaveLength(2);
    await driver.expectGoodPage('setup-alerts');
    await driver.button('Edit On call').click();
    await driver.dialog().getByText('A partner is down').click();
    await driver.dialog().getByText('Disabled', { exact: true }).click();
    await driver.inDialog('Save').click();
    await row('On call').getByText('DISABLED').waitFor();
    const [alert] = await app.given.sql('SELECT conditions, disabled, watched_accounts AS accounts FROM alerts');
    expect(alert).toMatchObject({ disabled: true, accounts: null });
    expect(alert['conditions']).not.toContain('PARTNER_DOWN');
    await driver.button('Delete On call').click();
    await driver.inDialog('Delete').click();
    await driver.told('Deleted.');
    await driver.page.getByText('No alert exists yet.').waitFor();
  });

  it('an operator can create a webhook alert with a secret header, and sees the cause when a test fails', async () => {
    const account = await app.given.account();
    await driver.goTo('/setup/alerts');
    await driver.button('New alert …').click();
    await inDialog('Name').fill('Chat');
    await inDialog('Send by').selectOption('WEBHOOK');
    await inDialog('Address').fill('https://127.0.0.1:9/hook');
    await inDialog('Headers').fill('Authorization: Bearer 12345');
    await inDialog('Accounts').fill(account);
    await driver.expectGoodPage('setup-alert-webhook');
    await driver.inDialog('Save').click();
    await driver.told('Saved.');
    expect((await app.given.sql('SELECT header_names, watched_accounts FROM alerts'))[0]).toEqual({
      header_names: ['Authorization'],
      watched_accounts: [account],
    });
    await driver.button('Send a test message for Chat').click();
    await driver.told(/The webhook did not answer/);
    await row('Chat').getByText('The webhook did not answer (ECONNREFUSED)').waitFor();
    await driver.expectGoodPage('setup-alerts-failed');
    await driver.button('Edit Chat').click();
    await driver.dialog().getByText('Leave empty to keep the stored headers: Authorization.').waitFor();
    await driver.inDialog('Save').click();
    await driver.told('Saved.');
    expect((await app.given.sql('SELECT header_names FROM alerts'))[0]['header_names']).toEqual(['Authorization']);
    expect(driver.refusals()).toHaveLength(1);
  });
});
