import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { BulkJobs, queueMany } from '../support/queued';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let board: Subscribed;
let college: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  board = await Subscribed.start(app, { name: 'The registry' });
  college = await Subscribed.start(app, { name: 'College bridge' });
  await board.admin('PUT', `accounts/${board.scene.account}`, { name: 'Board of Nürnberg' });
  await board.admin('PUT', `accounts/${college.scene.account}`, { name: 'College of Lyon' });
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await board?.stop();
  await college?.stop();
  await app?.close();
});

const row = (text: string | RegExp) => driver.page.getByRole('row').filter({ hasText: text });
const search = (name: string) => new URL(driver.page.url()).searchParams.get(name);

describe('names of accounts and partners in the console', () => {
  it('an operator can find an account by part of its name, typed without accents, and then sees only data of this account', async () => {
    await driver.goTo('/partners');
    await row('The registry').getByText('Board of Nürnberg').waitFor();
    await row('College bridge').waitFor();
    const field = driver.page.getByRole('combobox', { name: 'Account' });
    await field.fill('nurn');
    await driver.page.getByRole('option', { name: /Board of Nürnberg/ }).waitFor();
    await driver.page.keyboard.press('Enter');
    await row('College bridge').waitFor({ state: 'detached' });
    expect(search('account_code')).toBe(board.scene.account);
    expect(await field.inputValue()).toBe('Board of Nürnberg');
    await field.click();
    await field.fill('o');
    await driver.page.getByRole('listbox', { name: 'Options' }).getByRole('option').nth(1).waitFor();
    await driver.expectGoodPage('partners-picker');
    await driver.page.keyboard.press('Escape');
    expect(search('account_code')).toBe(board.scene.account);
  });

  it('an operator can filter jobs by partner, and finds the partner by its name', async () => {
    const jobs = new BulkJobs(app, board.operator);
    for (const { id } of [board, college]) {
      const job = await jobs.start('error-queue/resend', { filter: { subscription_id: id } });
      await eventually(async () => (await jobs.call('GET', `jobs/${job}`)).body.state === 'DONE');
    }
    await driver.goTo('/jobs');
    await row('The registry').waitFor();
    await row('College bridge').waitFor();
    await driver.page.getByRole('combobox', { name: 'Partner' }).fill('registry');
    await driver.page.keyboard.press('Enter');
    await row('College bridge').waitFor({ state: 'detached' });
    await row('The registry').waitFor();
    expect(search('subscription_id')).toBe(board.id);
    const { body } = await jobs.call('GET', `jobs?subscription_id=${college.id}`);
    expect(body).toEqual([expect.objectContaining({ subscription_id: college.id })]);
    await driver.expectGoodPage('jobs-of-partner');
  });

  it('the filter by partner finds a job for several partners only if the job sent notifications to the chosen partner', async () => {
    await queueMany(college, 1);
    college.partner.answer({ status: 200 });
    const jobs = new BulkJobs(app, board.operator);
    const job = await jobs.start('error-queue/resend', { filter: { account_code: college.scene.account } });
    await eventually(async () => (await jobs.call('GET', `jobs/${job}`)).body.state === 'DONE');
    const idsOf = async (id: string) =>
      (await jobs.call('GET', `jobs?subscription_id=${id}`)).body.map((one: { job_id: string }) => one.job_id);
    expect(await idsOf(college.id)).toContain(job);
    expect(await idsOf(board.id)).not.toContain(job);
  });

  it('an operator chooses the accounts of a user by their names', async () => {
    await driver.goTo('/setup/users');
    await driver.button('New user …').click();
    const dialog = driver.dialog('New user');
    await dialog.getByLabel('User name').fill('lyon.staff');
    await dialog.getByLabel('Password').fill('a long enough passphrase');
    await dialog.getByRole('combobox', { name: 'Accounts' }).fill('lyon');
    await dialog.getByRole('option', { name: /College of Lyon/ }).click();
    await dialog.getByRole('list', { name: 'Chosen: accounts' }).getByText('College of Lyon').waitFor();
    await dialog.getByRole('combobox', { name: 'Accounts' }).fill('nürn');
    await driver.page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Remove Board of Nürnberg' }).click();
    await driver.expectGoodPage('user-accounts');
    await driver.inDialog('Create').click();
    await driver.told('User created.');
    await row('lyon.staff').getByText('College of Lyon').waitFor();
    const accounts = await app.given.sql(`SELECT account_code FROM user_accounts WHERE username = 'lyon.staff'`);
    expect(accounts).toEqual([{ account_code: college.scene.account }]);
  });

  it('an operator chooses the accounts of an alert by their names, and the list of alerts shows these names', async () => {
    await driver.goTo('/setup/alerts');
    await driver.button('New alert …').click();
    const dialog = driver.dialog('New alert');
    await dialog.getByLabel('Name').fill('Lyon on call');
    await dialog.getByLabel('Send by').selectOption('WEBHOOK');
    await dialog.getByLabel('Address').fill('https://127.0.0.1:9/hook');
    await dialog.getByRole('list', { name: 'Chosen: accounts' }).getByText('All accounts').waitFor();
    await dialog.getByRole('combobox', { name: 'Accounts' }).fill('lyon');
    await dialog.getByRole('option', { name: /College of Lyon/ }).click();
    // The operator enters the name of an account that was already chosen. The field must neither offer the account
    // again, nor accept the name as the code of an account.
    await dialog.getByRole('combobox', { name: 'Accounts' }).fill('College of Lyon');
    await driver.page.keyboard.press('Tab');
    expect(await dialog.getByRole('list', { name: 'Chosen: accounts' }).getByRole('listitem').count()).toBe(1);
    await driver.expectGoodPage('alert-accounts');
    await driver.inDialog('Save').click();
    await driver.told('Saved.');
    await row('Lyon on call').waitFor();
    await driver.button('Columns').click();
    await driver.page.getByRole('menuitemcheckbox', { name: 'Accounts' }).click();
    await driver.page.keyboard.press('Escape');
    await row('Lyon on call').getByText('College of Lyon').waitFor();
    const alerts = await app.given.sql('SELECT watched_accounts FROM alerts');
    expect(alerts).toEqual([{ watched_accounts: [college.scene.account] }]);
  });

  it("an operator chooses a user's subscriptions by the names of their partners", async () => {
    await driver.goTo('/setup/users');
    await driver.button('New user …').click();
    const dialog = driver.dialog('New user');
    await dialog.getByLabel('User name').fill('bridge.staff');
    await dialog.getByLabel('Password').fill('a long enough passphrase');
    await dialog.getByRole('combobox', { name: 'Accounts' }).fill('lyon');
    await dialog.getByRole('option', { name: /College of Lyon/ }).click();
    await dialog.getByRole('combobox', { name: 'Subscriptions of a partner' }).fill('bridge');
    await dialog.getByRole('option', { name: 'College bridge' }).click();
    await dialog
      .getByRole('list', { name: 'Chosen: subscriptions of a partner' })
      .getByText('College bridge')
      .waitFor();
    await driver.inDialog('Create').click();
    await driver.told('User created.');
    const users = await app.given.sql(`SELECT subscription_ids FROM users WHERE username = 'bridge.staff'`);
    expect(users).toEqual([{ subscription_ids: [college.id] }]);
  });

  it("the confirmation dialog for the removal of a user's rights shows accounts and partners by name", async () => {
    await driver.goTo('/setup/users');
    await driver.button('Edit bridge.staff').click();
    await driver.inDialog('Remove College of Lyon').click();
    await driver.inDialog('Remove College bridge').click();
    await driver.inDialog('Save').click();
    const asked = driver.page.getByRole('alertdialog', { name: 'Change bridge.staff?' });
    await asked
      .getByText('Tokens and sessions that include College of Lyon, College bridge will be revoked.')
      .waitFor();
    await asked.getByRole('button', { name: 'Change' }).click();
    await driver.told('Saved.');
  });

  it("the pages of an account's catalogue show the name of the account", async () => {
    await driver.goTo(`/setup/accounts/${college.scene.account}/tests`);
    await driver.page.getByRole('navigation', { name: 'Breadcrumb' }).getByText('College of Lyon').waitFor();
    await driver.page.getByRole('table', { name: 'Tests of College of Lyon' }).waitFor();
  });

  it("support staff of a single account see the account's name, and cannot choose another account", async () => {
    const staff = await driver.another('/partners', { scopes: ['support'] });
    const { account } = staff.operator;
    await staff.page.locator('.who').getByText(`Board ${account}`, { exact: true }).waitFor();
    await staff.page.getByRole('combobox', { name: 'Account' }).click();
    const offered = staff.page.getByRole('listbox', { name: 'Options' }).getByRole('option');
    expect(await offered.allTextContents()).toEqual([`Board ${account}${account}`]);
    await staff.expectNoComplaints();
  });

  it('an operator finds a partner by its name among more than 200 partners', async () => {
    await app.given.sql(
      `INSERT INTO subscriptions (id, account_code, partner_url, change_reasons, auth, auto_retry_on, signing_secret,
         state, health, created_datetime, updated_datetime)
       SELECT gen_random_uuid(), account_code, 'https://' || n || '.example', change_reasons, auth, auto_retry_on, '',
         'UNVERIFIED', 'UP', now(), now()
       FROM subscriptions, generate_series(1, 250) AS n WHERE id = $1`,
      [college.id],
    );
    await driver.goTo('/jobs');
    await driver.page.getByRole('combobox', { name: 'Partner' }).fill('registry');
    await driver.page.getByRole('option', { name: 'The registry' }).click();
    await eventually(() => search('subscription_id') === board.id);
  });
});
