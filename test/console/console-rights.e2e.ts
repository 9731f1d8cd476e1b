import type { Request } from 'playwright-core';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { Deliveries } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { BulkJobs } from '../support/queued';
import { OAuth, type Login } from '../support/oauth';
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
      'Error queue for this partner',
      'Settings',
      'Suspend …',
      'Invite the partner …',
      'Rotate the secret …',
      'Delete …',
    ]);
    expect(await actions(staff)).toEqual(['Error queue for this partner', 'Suspend …']);
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
  ])('support staff who open the address %s see that only operators with the admin scope can use it', async (path) => {
    const { account } = subscribed.scene;
    await staff.goTo(path.replace('/A', `/${account}`).replace('/P/', `/${subscribed.id}/`));
    await staff.title('No access');
    await staff.page.getByText('Only operators with the “admin” scope can use this page.').waitFor();
    expect(await staff.page.getByRole('navigation', { name: 'Breadcrumb' }).count()).toBe(0);
    expect(staff.refusals()).toEqual([]);
    if (path === '/setup') await staff.expectGoodPage('no-access');
  });

  it('no page that support staff can reach, and none of its buttons, sends a request that is answered with 403', async () => {
    await oneOfEach(subscribed);
    const settled = settledOf(staff);
    const paths = await linkedPages(staff, settled);
    expect([...paths.keys()]).toEqual(expect.arrayContaining(PAGES));
    await staff.page.keyboard.press('Control+k');
    await staff.page.getByRole('combobox', { name: /^Search for/ }).fill('board');
    await staff.page.getByRole('option', { name: 'Partner The board' }).waitFor();
    expect(staff.refusals()).toEqual([]);
    const pressed: string[] = [];
    // The test opens the pages of single items first, because the buttons of the lists may remove these items.
    for (const path of [...paths.values()].toReversed()) pressed.push(...(await pressAll(staff, path, settled)));
    expect(pressed).toEqual(expect.arrayContaining(BUTTONS));
    expect(staff.refusals().filter((refusal) => refusal.startsWith('403'))).toEqual([]);
  }, 240_000);
});

/** The addresses of the pages that support staff can open, with `*` instead of the code of an item. */
const PAGES = [
  '/',
  '/queue',
  '/queue/notifications',
  '/jobs',
  '/jobs/*',
  '/partners',
  '/partners/*',
  '/candidates',
  '/candidates/*/*',
  '/notifications',
  '/notifications/*',
  '/work/approvals',
  '/work/holds',
  '/work/unmatched',
  '/work/unmatched/*',
  '/work/imports',
  '/audit',
];

/** Some of the buttons that let support staff change data. */
const BUTTONS = [
  'Suspend …',
  'Send a sample',
  'Verify',
  'Replay …',
  'Resend …',
  'Resolve …',
  'Hold …',
  'Approve the accommodations for Ada Lovelace',
  'Decline the accommodations for Ada Lovelace',
  'Release the hold for Ada Lovelace',
  'Reject …',
];

/** Creates items for each page of the console: a job, an import, a result, and records that wait for a decision. */
async function oneOfEach({ app, operator, scene, id }: Subscribed): Promise<void> {
  const code = await app.given.accommodation(scene.account, true);
  for (let number = 0; number < 3; number++)
    await app.given.eligibility(scene, { candidate: { special_accommodations: [code] } });
  const { svc_eligiblity_id: held } = await app.given.eligibility(scene);
  await app.call('POST', `/admin/eligibilities/${held}/hold`, { token: operator, body: { reason: 'Identity' } });
  await new Deliveries(app).put(scene, { candidate_id: 'NOBODY', result: 'pass' });
  await fetch(`${app.url}/accounts/${scene.account}/eligibility-imports`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.token}`, 'content-type': 'text/csv' },
    body: `candidate_id,first_name,last_name,test_code\nUP-1,Ada,L,${scene.testCode}\n`,
  });
  await new BulkJobs(app, operator).start('error-queue/resend', { filter: { subscription_id: id } });
}

type Settled = () => Promise<void>;

/** Returns a function that waits until the page has no unanswered request, except for the stream of events. */
function settledOf({ page }: ConsoleDriver): Settled {
  const unanswered = new Set<Request>();
  page.on('request', (request) => request.url().endsWith('/admin/events') || unanswered.add(request));
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => unanswered.delete(request));
  return async () => {
    // Pressing a button can load another part of the page. This part may send requests after it is rendered.
    for (let round = 0; round < 2; round++) {
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
      await eventually(() => unanswered.size === 0);
    }
  };
}

/** Follows the links of the console, and opens one page of each kind. Returns the addresses of these pages by kind. */
async function linkedPages(driver: ConsoleDriver, settled: Settled): Promise<Map<string, string>> {
  const found = new Map([['/', '/']]);
  for (const path of found.values()) {
    await driver.goTo(path);
    await driver.page.getByRole('heading', { level: 1 }).waitFor();
    await settled();
    const links = await driver.page.evaluate<string[]>(
      `[...document.querySelectorAll('nav a, main a')].map(({ href }) => href)`,
    );
    for (const link of links) {
      const { origin, pathname, search } = new URL(link);
      const address = pathname.replace(/^\/console/, '') || '/';
      const kind = address.replace(/(?<=\/)[^/]*[^a-z/][^/]*/g, '*');
      if (origin === driver.app.url && !found.has(kind)) found.set(kind, address + search);
    }
  }
  return found;
}

/**
 * Presses every button on a page, and confirms each question that a button opens. Returns the names of the pressed
 * buttons.
 */
async function pressAll(driver: ConsoleDriver, path: string, settled: Settled): Promise<string[]> {
  const { page } = driver;
  const pressed: string[] = [];
  const open = async () => {
    await driver.goTo(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled();
    if (!(await page.getByLabel('All rows shown').isVisible())) return;
    await page.getByLabel('All rows shown').check();
    await settled();
  };
  await open();
  const names = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main button:not(thead *)')].map((button) => (button.getAttribute('aria-label') ?? button.textContent).trim())`,
  );
  for (const name of new Set(names)) {
    const url = page.url();
    const button = page.locator('main').getByRole('button', { name, exact: true }).first();
    // An earlier press may have removed the button.
    if (!(await button.isVisible()) || !(await button.isEnabled())) continue;
    await button.click();
    pressed.push(name);
    await settled();
    const confirm = driver.dialog().locator('button[type=submit]').last();
    if (await confirm.isVisible()) {
      for (const field of await driver.dialog().locator('textarea, input[type=text]').all()) await field.fill('Mended');
      await confirm.click();
      await settled();
    }
    await page.keyboard.press('Escape');
    if (page.url() !== url || (await driver.dialog().first().isVisible())) await open();
  }
  return pressed;
}

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

  it.each([
    [
      'a scope of a user is removed',
      () =>
        driver
          .dialog()
          .getByText(/^update:/)
          .click(),
      'Tokens and sessions that include update will be revoked.',
    ],
    [
      'an account of a user is removed',
      () => driver.inDialog('Remove Board of Lyon').click(),
      'Tokens and sessions that include Board of Lyon will be revoked.',
    ],
    [
      'the password of a user is replaced',
      () => driver.dialog().getByLabel('New password').fill('seven grey herons wait'),
      'The user will be signed out everywhere, and all the user’s tokens will be revoked.',
    ],
  ])('an operator is asked for confirmation before %s', async (_, change, consequence) => {
    const { username } = await clientOfLyon();
    const before = await stored(username);
    await driver.goTo('/setup/users');
    await driver.button(`Edit ${username}`).click();
    await change();
    await driver.inDialog('Save').click();
    const asked = driver.page.getByRole('alertdialog', { name: `Change ${username}?` });
    await asked.getByText(consequence, { exact: true }).waitFor();
    expect(await stored(username)).toEqual(before);
    await asked.getByRole('button', { name: 'Change' }).click();
    await driver.told('Saved.');
    expect(await stored(username)).not.toEqual(before);
  });

  it('an operator is asked for confirmation before an application gets a new secret', async () => {
    const { consumer_key: key } = await clientOfLyon();
    await app.given.sql(`UPDATE applications SET name = 'Portal' WHERE consumer_key = $1`, [key]);
    const secret = async () =>
      (await app.given.sql('SELECT secret_hash FROM applications WHERE consumer_key = $1', [key]))[0];
    const before = await secret();
    await driver.goTo('/setup/applications');
    await driver.button('New secret of Portal').click();
    const asked = driver.page.getByRole('alertdialog', { name: 'New secret of Portal?' });
    await asked.getByText('The current secret will stop working immediately.').waitFor();
    await asked.getByRole('button', { name: 'Cancel' }).click();
    expect(await secret()).toEqual(before);
    await driver.button('New secret of Portal').click();
    await asked.getByRole('button', { name: 'Create new secret' }).click();
    await driver.inDialog('I have copied the secret').click();
    expect(await secret()).not.toEqual(before);
  });

  /** Creates an application and a user of an account, and gives the account a name. */
  async function clientOfLyon(): Promise<Login> {
    const login = await new OAuth(app).login({ scopes: ['read', 'update'] });
    await app.given.sql(`UPDATE accounts SET name = 'Board of Lyon' WHERE account_code = $1`, [login.account]);
    return login;
  }

  /** Returns what the database stores about the rights of a user. */
  const stored = (username: string) =>
    app.given.sql(
      `SELECT password_hash, scopes, array(SELECT account_code FROM user_accounts WHERE username = $1) AS accounts
       FROM users WHERE username = $1`,
      [username],
    );

  it('an operator cannot disable the application that the console itself uses, and the dialog says why', async () => {
    await driver.goTo('/setup/applications');
    const asked = await disable('Console');
    await asked.getByText('The application cannot be disabled').waitFor();
    expect(driver.refusals()).toEqual(['409 PUT /admin/applications/CONSOLEOFTHISSERVICE']);
    await driver.page.reload();
    await driver.title('Applications');
  });
});
