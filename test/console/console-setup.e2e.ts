import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { startPartner } from '../support/partner';

const { MARKUP } = ConsoleDriver;

let app: TestApp;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  driver = await ConsoleDriver.start(app, '/setup');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver.stop();
  await app.close();
});

const field = (label: string) => driver.page.getByLabel(label).first();
const inDialog = (label: string) => driver.dialog().getByLabel(label).first();

describe('the set-up pages', () => {
  it('an operator can open an account and change its settings, in forms that apply the rules of the OpenAPI document', async () => {
    await driver.title('Accounts');
    await driver.expectGoodPage('setup');
    await driver.button('Open an account …').click();
    await driver.inDialog('Open').click();
    await driver.dialog().getByText('Required.').waitFor();
    await inDialog('Name').fill(MARKUP);
    await driver.inDialog('Open').click();
    await driver.title(MARKUP);
    await driver.expectGoodPage('setup-account');
    await field('Days to keep photos').fill('-1');
    await driver.button('Save').click();
    await driver.page.getByText(/^At least/).waitFor();
    await field('Days to keep photos').fill('30');
    await driver.button('Save').click();
    await driver.told('Saved.');
    const [{ days }] = await app.given.sql('SELECT photo_retention_days AS days FROM accounts WHERE name = $1', [
      MARKUP,
    ]);
    expect(days).toBe(30);
  });

  it.each([
    ['tests', 'Tests', 'New test …', 'Test code', 'T-CONSOLE', 'Name'],
    ['schools', 'Schools', 'New school …', 'School code', 'S-CONSOLE', 'Name'],
    ['accommodations', 'Accommodations', 'New accommodation …', 'Accommodation code', 'A-CONSOLE', 'Name'],
    ['attribute-keys', 'Attribute keys', 'New attribute key …', 'Key', 'k-console', 'Name'],
    ['vouchers', 'Vouchers', 'New voucher …', 'Voucher code', 'V-CONSOLE', 'Value'],
  ])(
    'an operator can create, change and delete %s on the set-up pages',
    async (kind, title, make, codeLabel, code, other) => {
      const account = await app.given.account();
      await driver.goTo(`/setup/accounts/${account}/${kind}`);
      await driver.title(title);
      await driver.button(make).click();
      await inDialog(codeLabel).fill(code);
      await inDialog(other).fill('10');
      await driver.inDialog('Save').click();
      await driver.told('Saved.');
      await driver.expectGoodPage(`setup-${kind}`);
      await driver.button(`Edit ${code}`).click();
      await inDialog(other).fill('20');
      await driver.inDialog('Save').click();
      await driver.page.getByRole('cell', { name: /^20/ }).waitFor();
      await driver.button(`Delete ${code}`).click();
      await driver.inDialog('Delete').click();
      await driver.told('Deleted.');
    },
  );

  it('the form for a test shows errors in the retake policy, stores the policy, and keeps it when the name changes', async () => {
    const account = await app.given.account();
    const policyOf = async () =>
      (await app.given.sql('SELECT retake FROM tests WHERE test_code = $1', ['T-RETAKE']))[0];
    await driver.goTo(`/setup/accounts/${account}/tests`);
    await driver.button('New test …').click();
    await inDialog('Test code').fill('T-RETAKE');
    await inDialog('Name').fill('Retaken');
    await inDialog('Retake: period').fill('365');
    await driver.inDialog('Save').click();
    await driver.dialog().getByText('A period needs a number of attempts.').waitFor();
    expect(driver.refusals()).toHaveLength(1);
    await inDialog('Retake: maximum number of attempts').fill('3');
    await inDialog('Retake: wait').fill('30');
    await driver.expectGoodPage('setup-test-retake');
    await driver.inDialog('Save').click();
    await driver.page.getByRole('cell', { name: /retake after 30 days · 3 attempts in 365 days/ }).waitFor();
    await driver.button('Edit T-RETAKE').click();
    await inDialog('Name').fill('Renamed');
    await driver.inDialog('Save').click();
    await driver.page.getByRole('cell', { name: 'Renamed' }).waitFor();
    expect(await policyOf()).toEqual({ retake: { wait_days: 30, max_attempts: 3, period_days: 365 } });
    await driver.button('Edit T-RETAKE').click();
    for (const label of ['wait', 'maximum number of attempts', 'period']) await inDialog(`Retake: ${label}`).fill('');
    await driver.inDialog('Save').click();
    await driver.page.getByRole('cell', { name: /^MAIN$/ }).waitFor();
    expect(await policyOf()).toEqual({ retake: null });
  });

  it('the set-up pages create and disable users, and show the secret of a new application once', async () => {
    await driver.goTo('/setup/users');
    await driver.title('Users');
    const username = app.given.unique('made-');
    await driver.button('New user …').click();
    await inDialog('User name').fill(username);
    await inDialog('Password').fill('password');
    await driver.inDialog('Create').click();
    await driver
      .dialog()
      .getByText(/characters/)
      .first()
      .waitFor();
    await inDialog('Password').fill('seven grey herons wait');
    await driver.inDialog('Create').click();
    await driver.told('User created.');
    await driver.expectGoodPage('setup-users');
    await driver.button(`Edit ${username}`).click();
    await driver.dialog().getByText('Disabled', { exact: true }).click();
    await driver.inDialog('Save').click();
    const asked = driver.page.getByRole('alertdialog', { name: `Disable ${username}?` });
    await asked.getByText('Enabling the user or application again will not restore them').waitFor();
    expect((await app.given.sql('SELECT disabled FROM users WHERE username = $1', [username]))[0]).toEqual({
      disabled: false,
    });
    await driver.expectGoodPage('setup-users-disable');
    await asked.getByRole('button', { name: 'Disable' }).click();
    await driver.told('Saved.');
    await driver.page.getByRole('row').filter({ hasText: username }).getByText('DISABLED').waitFor();
    await driver.goTo('/setup/applications');
    await driver.title('Applications');
    await driver.button('New application …').click();
    await inDialog('Name').fill(`Portal ${MARKUP}`);
    await driver.inDialog('Create').click();
    await driver.dialog('The secret is shown only once').waitFor();
    await driver.inDialog('I have copied the secret').click();
    await driver.expectGoodPage('setup-applications');
  });

  it('the set-up pages show working command lines for a new client', async () => {
    const { account } = await app.given.scene();
    const username = app.given.unique('client-');
    await driver.goTo('/setup/connect-client');
    await driver.expectGoodPage('setup-connect-client');
    await field('Accounts').fill(account);
    await field('User name').fill(username);
    await field('Password').fill('seven grey herons wait');
    await driver.button('Create user').click();
    await driver.page.getByLabel(/^Name/).fill('Portal');
    await driver.button('Create application').click();
    const lines = (await driver.page.getByLabel('Shell commands').textContent())!;
    await driver.expectGoodPage('setup-connected-client');
    const [, key, secret] = /-u '(\w+):([^']+)'/.exec(lines)!;
    const token = await fetch(`${app.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${key}:${secret}`)}` },
      body: new URLSearchParams({ grant_type: 'password', username, password: 'seven grey herons wait' }),
    });
    const { access_token } = (await token.json()) as { access_token: string };
    const [, address] = /Bearer \$TOKEN" '[^']*?(\/accounts\/[^']+)'/.exec(lines)!;
    expect((await app.call('GET', address, { token: access_token })).body).toEqual([]);
  });

  it('a partner that an operator connects on the set-up pages receives a sample and notifications', async () => {
    const { account } = await app.given.scene();
    const partner = await startPartner();
    try {
      await driver.goTo('/setup/connect-partner');
      await driver.expectGoodPage('setup-connect-partner');
      await driver.page.getByLabel(/^Account \*?$/).fill(account);
      await field('Partner URL').fill('http://plain.example');
      await driver.button('Create subscription').click();
      await driver.page.getByText(/https/).first().waitFor();
      await field('Partner URL').fill(partner.url);
      await field('Certificate authority, PEM').fill(partner.caPem);
      await driver.button('Create subscription').click();
      partner.answer({ status: 400, body: MARKUP });
      await driver.button('Send a sample').click();
      await driver.page.getByText('Not delivered.').waitFor();
      await driver.page.getByText(MARKUP).waitFor();
      partner.answer({ status: 200 });
      await driver.button('Send the sample again').click();
      await driver.page.getByText(/^Delivered\./).waitFor();
      await driver.expectGoodPage('setup-connected-partner');
      const [{ state }] = await app.given.sql('SELECT state FROM subscriptions WHERE account_code = $1', [account]);
      expect(state).toBe('ACTIVE');
      expect(await driver.page.getByLabel('Shell command').textContent()).toContain(`${partner.url}/notifications`);
    } finally {
      await partner.stop();
    }
  });
});
