import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { startPartner, type Partner } from '../support/partner';

let app: TestApp;
let partner: Partner;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  partner = await startPartner();
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await partner?.stop();
  await app?.close();
});

const field = (label: string | RegExp) => driver.page.getByLabel(label).first();
const fact = (term: string) => driver.page.locator('.facts > div').filter({ hasText: term }).locator('dd');
const step = (text: string) => driver.page.getByText(text, { exact: true }).waitFor();

describe('the assistant that connects a client', () => {
  it('the assistant that connects a client stays at the same step after a reload, and can go back', async () => {
    const account = await app.given.account();
    await driver.goTo('/setup/connect-client');
    await step('Step 1 of 3');
    await field('Accounts').fill(account);
    await field('User name').fill('wizard.client');
    await field('Password').fill('seven grey herons wait');
    await driver.button('Create user').click();
    await step('Step 2 of 3');
    await driver.page.reload();
    await step('Step 2 of 3');
    await driver.page.getByText('The user wizard.client exists.').waitFor();
    await driver.expectGoodPage('connect-client-application');
    await driver.link('Back').click();
    await step('Step 1 of 3');
    await driver.page.goBack();
    await step('Step 2 of 3');
  });

  it('the first step of the assistant shows a user that it created, and edits this user instead of creating another', async () => {
    await driver.link('Back').click();
    await step('Step 1 of 3');
    await fact('User name').getByText('wizard.client').waitFor();
    expect(await driver.button('Create user').count()).toBe(0);
    await driver.expectGoodPage('connect-client-user');
    await driver.button('Edit …').click();
    await driver
      .dialog('Edit wizard.client')
      .getByText(/^delete:/)
      .click();
    await driver.inDialog('Save').click();
    await driver.told('Saved.');
    await fact('Scopes').getByText('read, create, update, delete').waitFor();
    await driver.link('Next').click();
    await step('Step 2 of 3');
  });

  it('the assistant that connects a client warns before a secret is lost, and can replace a lost secret', async () => {
    await field(/^Name/).fill('Portal');
    await driver.button('Create application').click();
    await step('Step 3 of 3');
    const secret = driver.page.getByRole('group', { name: 'Consumer secret' }).locator('code');
    const first = await secret.textContent();
    await driver.expectGoodPage('connect-client-secret');
    await driver.link('Partners').click();
    await driver.dialog('Leave without the secret?').waitFor();
    await driver.inDialog('Cancel').click();
    expect(await secret.textContent()).toBe(first);
    await driver.button('I have copied the secret').click();
    await secret.waitFor({ state: 'detached' });
    await driver.link('Back').click();
    await step('Step 2 of 3');
    await fact('Name').getByText('Portal').waitFor();
    expect(await driver.button('Create application').count()).toBe(0);
    await driver.expectGoodPage('connect-client-made-application');
    await driver.button('Edit …').click();
    await driver.dialog().getByLabel('Name').fill('Portal of the board');
    await driver.inDialog('Save').click();
    await fact('Name').getByText('Portal of the board').waitFor();
    await driver.link('Next').click();
    await step('Step 3 of 3');
    await driver.page.getByText('You have copied the secret. It will not be shown again.').waitFor();
    await driver.page.reload();
    await step('Step 3 of 3');
    await driver.page.getByText(/It cannot be shown again/).waitFor();
    await driver.button('Create a new secret …').click();
    await driver.inDialog('Create new secret').click();
    await secret.waitFor();
    expect(await secret.textContent()).not.toBe(first);
    await driver.button('I have copied the secret').click();
    await driver.link('Partners').click();
    await driver.title('Partners');
    expect(await app.given.sql(`SELECT name FROM applications WHERE name LIKE 'Portal%'`)).toEqual([
      { name: 'Portal of the board' },
    ]);
  });
});

describe('the assistant that connects a partner', () => {
  it('the assistant that connects a partner continues after a refused certificate is corrected', async () => {
    const account = await app.given.account();
    await driver.goTo('/setup/connect-partner');
    await driver.page.getByLabel(/^Account \*?$/).fill(account);
    await field('Partner URL').fill(partner.url);
    await driver.button('Create subscription').click();
    await step('Step 2 of 2');
    const secret = driver.page.getByRole('group', { name: 'Signing secret' });
    await driver.link('Partners').click();
    await driver.dialog('Leave without the secret?').waitFor();
    await driver.inDialog('Cancel').click();
    expect(await asksBefore(() => driver.page.evaluate('setTimeout(() => location.reload())'))).toBe('beforeunload');
    expect(await asksBefore(() => driver.page.close({ runBeforeUnload: true }))).toBe('beforeunload');
    await secret.waitFor();
    await driver.button('I have copied the secret').click();
    await secret.waitFor({ state: 'detached' });
    await driver.page.reload();
    await step('Step 2 of 2');
    await driver.link('Back').click();
    await step('Step 1 of 2');
    await fact('Partner URL').getByText(partner.url).waitFor();
    expect(await driver.button('Create subscription').count()).toBe(0);
    await driver.expectGoodPage('connect-partner-made');
    await driver.link('Next').click();
    await step('Step 2 of 2');
    await driver.button('Send a sample').click();
    await driver.page.getByText('The certificate of the partner was not accepted.').waitFor();
    await driver.expectGoodPage('connect-partner-certificate');
    await driver.link('Correct the certificate authority').click();
    await field(/^Certificate authority/).fill(partner.caPem);
    await driver.button('Save').click();
    await driver.told('The settings were changed.');
    await step('Step 2 of 2');
    await driver.button('Send a sample').click();
    await driver.page.getByText(/^Delivered\. The partner is verified/).waitFor();
    expect(await app.given.sql('SELECT 1 FROM subscriptions WHERE account_code = $1', [account])).toHaveLength(1);
  });

  it('the console asks before a page is left while a dialog shows a new secret', async () => {
    await driver.goTo('/setup/applications');
    await driver.button('New application …').click();
    await driver.dialog().getByLabel('Name').fill('Kiosk');
    await driver.inDialog('Create').click();
    const shown = driver.dialog('The secret is shown only once');
    await shown.waitFor();
    expect(await asksBefore(() => driver.page.evaluate('setTimeout(() => location.reload())'))).toBe('beforeunload');
    await shown.getByRole('button', { name: 'I have copied the secret' }).click();
    await driver.page.reload();
    await driver.title('Applications');
  });
});

/** Performs an action that would leave the page, and dismisses the browser's dialog. Returns the type of the dialog. */
async function asksBefore(leave: () => Promise<unknown>): Promise<string> {
  const [question] = await Promise.all([driver.page.waitForEvent('dialog'), leave()]);
  await question.dismiss();
  return question.type();
}
