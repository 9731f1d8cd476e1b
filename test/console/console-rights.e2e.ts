import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

describe('the console for support staff', () => {
  let app: TestApp;
  let subscribed: Subscribed;
  let admin: ConsoleDriver;
  let staff: ConsoleDriver;

  beforeAll(async () => {
    app = await startApp();
    admin = await ConsoleDriver.start(app);
    staff = await admin.another('', { scopes: ['support'] });
    const { account } = staff.operator;
    const scene = { account, testCode: await app.given.test(account), token: await app.given.token([account]) };
    subscribed = await Subscribed.start(app, { name: 'The board' }, { scene });
    subscribed.partner.answer({ status: 401 });
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  });
  afterEach(() => staff.expectNoComplaints());
  afterAll(async () => {
    await admin?.stop();
    await subscribed?.stop();
    await app?.close();
  });

  it('the console shows support staff only the actions on a partner that they may perform', async () => {
    const actions = async (driver: ConsoleDriver) => {
      await driver.goTo(`/partners/${subscribed.id}`);
      await driver.button('Suspend …').waitFor();
      const shown = driver.page.locator('.page-head a, .page-head button, .partner-actions button');
      return (await shown.allTextContents()).filter((text) => text !== 'Partners');
    };
    expect(await actions(admin)).toEqual([
      'Error queue of this partner',
      'Settings',
      'Suspend …',
      'Invite the partner …',
      'Rotate the secret …',
      'Delete …',
    ]);
    expect(await actions(staff)).toEqual(['Error queue of this partner', 'Suspend …']);
    expect(staff.refusals()).toEqual([]);
    await staff.expectGoodPage('partner-staff');
  });

  it('the console shows support staff no link to a set-up page', async () => {
    for (const [driver, isAdmin] of [
      [admin, true],
      [staff, false],
    ] as const) {
      await driver.goTo('/partners');
      await driver.link('The board').waitFor();
      expect(await driver.link('Connect a partner').count()).toBe(isAdmin ? 1 : 0);
      expect(await driver.link('Set-up').count()).toBe(isAdmin ? 1 : 0);
      await driver.goTo('/queue');
      await driver.link('Not authorized').waitFor();
      expect(await driver.link('Correct the settings').count()).toBe(isAdmin ? 1 : 0);
      expect(await driver.link('Open the partner').count()).toBe(isAdmin ? 0 : 1);
    }
    expect(staff.refusals()).toEqual([]);
  });

  it.each([
    '/setup',
    '/setup/accounts/A',
    '/setup/accounts/A/tests',
    '/setup/users',
    '/setup/applications',
    '/setup/alerts',
    '/setup/connect-client',
    '/setup/connect-partner',
    '/partners/P/settings',
  ])('support staff who open the address %s see that the page needs an operator with the scope admin', async (path) => {
    const { account } = subscribed.scene;
    await staff.goTo(path.replace('/A', `/${account}`).replace('/P/', `/${subscribed.id}/`));
    await staff.title('No access');
    await staff.page.getByText('This page needs an operator with the scope admin.').waitFor();
    expect(await staff.page.getByRole('navigation', { name: 'Breadcrumb' }).count()).toBe(0);
    expect(staff.refusals()).toEqual([]);
    if (path === '/setup') await staff.expectGoodPage('no-access');
  });

});

describe('the rights of the signed-in operator', () => {
  let app: TestApp;
  let driver: ConsoleDriver;

  beforeAll(async () => {
    app = await startApp();
    driver = await ConsoleDriver.start(app, '/setup/users');
  });
  afterEach(() => driver.expectNoComplaints());
  afterAll(async () => {
    await driver?.stop();
    await app?.close();
  });

  /** Clicks the button that disables a user or an application, and confirms in the dialog. */
  async function disable(name: string) {
    await driver.button(`Edit ${name}`).click();
    await driver.dialog().getByText('Disabled', { exact: true }).click();
    await driver.inDialog('Save').click();
    const asked = driver.page.getByRole('alertdialog', { name: `Disable ${name}?` });
    await asked.getByRole('button', { name: 'Disable' }).click();
    return asked;
  }

  it('the last operator cannot disable their own user, and the dialog says why', async () => {
    const { username } = driver.operator;
    const asked = await disable(username);
    await asked.getByText('This user is the last enabled user with the scope').waitFor();
    await driver.expectGoodPage('setup-last-operator');
    expect(driver.refusals()).toEqual([`409 PUT /admin/users/${username}`]);
  });

  it('an operator cannot disable the application that the console itself uses, and the dialog says why', async () => {
    await driver.goTo('/setup/applications');
    const asked = await disable('Console');
    await asked.getByText('The application cannot be disabled').waitFor();
    expect(driver.refusals()).toEqual(['409 PUT /admin/applications/CONSOLEOFTHISSERVICE']);
    await driver.page.reload();
    await driver.title('Applications');
  });
});
