import type { Browser, Locator } from 'playwright-core';
import { startApp, type TestApp } from './support/app';
import { openPage, startBrowser, type WatchedPage } from './support/browser';
import { eventually } from './support/eventually';
import { OAuth, type Login } from './support/oauth';
import { Subscribed } from './support/subscribed';
import { SCOPES } from '../src/platform/context/caller';

const MARKUP = '<img src=x onerror="window.hacked = true">';
/** A directory to leave pictures of the screens in: light, dark and narrow. */
const PICTURES = process.env['CONSOLE_PICTURES'];

/** What an operator does in a morning: from the first sign-in to the sign-out, on one page in a real browser. */
describe('the console', () => {
  let app: TestApp;
  let browser: Browser;
  let watched: WatchedPage;
  let operator: Login;
  let subscribed: Subscribed;
  let bookings: string[];

  beforeAll(async () => {
    app = await startApp({ env: { LOCKOUT_ATTEMPTS: '5' } });
    browser = await startBrowser();
    watched = await openPage(browser, { timezoneId: 'America/New_York' });
    operator = await new OAuth(app).login({ scopes: SCOPES });
    subscribed = await Subscribed.start(app);
    subscribed.partner.answer({ status: 400, body: `No such exam ${MARKUP}` });
    bookings = [];
    for (let count = 0; count < 4; count++) {
      const eligibility = await app.given.eligibility(subscribed.scene, { candidate: { first_name: MARKUP } });
      bookings.push((await app.given.booking(subscribed.scene, eligibility))['booking_code'] as string);
    }
    await eventually(async () => (await subscribed.queue()).length === 4);
  });

  afterAll(async () => {
    await browser?.close();
    await subscribed?.stop();
    await app?.close();
  });

  afterEach(() => expect(watched.complaints).toEqual([]));

  const page = () => watched.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const title = (name: string | RegExp) => page().getByRole('heading', { level: 1, name }).waitFor();
  const told = (text: string | RegExp) => page().getByRole('status').filter({ hasText: text }).waitFor();
  const inDialog = (name: string | RegExp): Locator => page().getByRole('dialog').getByRole('button', { name });
  const goTo = (hash: string) => page().goto(`${app.url}/console${hash}`);

  async function picture(name: string): Promise<void> {
    if (!PICTURES) return;
    const take = (kind: string) => page().screenshot({ path: `${PICTURES}/${name}-${kind}.png`, fullPage: true });
    const window = page().viewportSize()!;
    await take('light');
    await page().emulateMedia({ colorScheme: 'dark' });
    await take('dark');
    await page().setViewportSize({ ...window, width: 400 });
    await take('narrow');
    await page().emulateMedia({ colorScheme: null });
    await page().setViewportSize(window);
  }

  async function fill(login: Login): Promise<void> {
    await page().getByLabel('Consumer key').fill(login.consumer_key);
    await page().getByLabel('Consumer secret').fill(login.consumer_secret);
    await page().getByLabel('User name').fill(login.username);
    await page().getByLabel('Password').fill(login.password);
    await button('Sign in').click();
  }

  /** The number that a fact of the screen shows. */
  async function fact(term: string): Promise<string | null> {
    return page().locator('.facts > div', { hasText: term }).locator('dd').textContent();
  }

  it('is the same static page for everybody, under a policy that lets no markup in', async () => {
    const response = await page().goto(`${app.url}/console`);
    const policy = response!.headers()['content-security-policy'];
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain('unsafe');
    expect(response!.headers()).toMatchObject({ 'cache-control': 'no-cache', etag: expect.any(String) });
    const { status, headers } = await fetch(`${app.url}/console/`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([308, '../console']);
    for (const name of ['nothing.js', 'console.controller.ts', '..%2Fconsole.controller.ts', '%2e%2e%2fapp.ts'])
      expect((await fetch(`${app.url}/console/${name}`)).status).toBe(404);
  });

  it('tells what is wrong with a sign-in, and to a screen reader, too', async () => {
    await title('Sign in');
    expect(
      await page()
        .getByLabel('Consumer key')
        .evaluate((element) => element.matches(':focus')),
    ).toBe(true);
    await button('Sign in').click();
    expect(await page().locator('[aria-invalid="true"]').count()).toBe(4);

    await fill({ ...operator, consumer_secret: 'wrong' });
    await page().getByRole('alert').filter({ hasText: 'The application is not known' }).waitFor();
    await fill({ ...operator, password: 'not the password' });
    await page().getByRole('alert').filter({ hasText: 'The user name or the password is wrong' }).waitFor();
    expect(
      await page()
        .getByLabel('Password')
        .evaluate((element) => element.matches(':focus')),
    ).toBe(true);
    await picture('sign-in');

    await fill(await new OAuth(app).login());
    await page().getByRole('alert').filter({ hasText: 'You may not use the console' }).waitFor();
    expect(watched.refusals.splice(0)).toEqual(Array(4).fill(expect.stringMatching(/^40[01] POST \/token$/)));
  });

  it('shows the error queue by cause once signed in, and keeps the tokens out of the browser', async () => {
    await fill(operator);
    await title('Error queue');
    const cause = page().getByRole('row').filter({ hasText: 'client_error' });
    await cause.waitFor();
    expect(await cause.getByRole('cell').allTextContents()).toEqual([
      'Refused (client_error)',
      expect.stringContaining(subscribed.partner.url),
      '400',
      'By an operator',
      '4',
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    ]);
    await picture('queue');
    const kept = await page().evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])');
    expect(kept).toBe('[{},{},""]');
  });

  it('shows the notifications of a cause, and what a partner and a candidate wrote as text', async () => {
    await page()
      .getByRole('link', { name: /client_error/ })
      .click();
    await title('Refused (client_error)');
    expect(await page().getByRole('row').count()).toBe(5);
    await picture('cause');
    await page().getByRole('link', { name: bookings[0] }).click();
    await title(`BOOKING_CREATED ${bookings[0]}`);
    await page().getByText(`No such exam ${MARKUP}`).waitFor();
    await page().getByText('Body (names the candidate)').click();
    await page().getByText(JSON.stringify(MARKUP)).waitFor();
    expect(await page().locator('main img').count()).toBe(0);
    expect(await page().evaluate('window.hacked')).toBeUndefined();
    await picture('notification');
  });

  it('resolves one with a reason, by the keyboard alone', async () => {
    await button('Resolve …').focus();
    await page().keyboard.press('Enter');
    await page().getByRole('dialog', { name: 'Resolve this notification?' }).waitFor();
    await inDialog('Resolve').click();
    await page().getByText('This is needed.').waitFor();
    await page().keyboard.type('Told them by telephone');
    await picture('resolve');
    await page().keyboard.press('Tab');
    await page().keyboard.press('Enter');
    await told('The notification is resolved.');
    await page().locator('.heading', { hasText: 'RESOLVED' }).waitFor();
    const [resolved] = await subscribed.notifications(`&booking_code=${bookings[0]}`);
    expect(resolved['state']).toBe('RESOLVED');
  });

  it('resends one, and tells that it failed again', async () => {
    await goTo(`#/notifications?booking_code=${bookings[1]}`);
    await page().getByRole('link', { name: bookings[1] }).click();
    await button('Resend …').click();
    await inDialog('Resend').click();
    await told('It failed again and is back in the error queue.');
    expect(await page().getByRole('row').filter({ hasText: 'MANUAL' }).count()).toBe(1);
  });

  it('resends a cause: counted first, confirmed, one job however often it is clicked, followed to its end', async () => {
    subscribed.partner.answer({ status: 200 });
    await goTo('#/queue');
    await page()
      .getByRole('link', { name: /client_error/ })
      .click();
    await button('Resend all of these …').click();
    await page().getByRole('dialog').getByLabel('Reason').fill('They know the exam now');
    await inDialog('Count first').click();
    await page().getByText('3 notifications fit now.').waitFor();
    expect(await app.given.sql('SELECT 1 FROM jobs')).toHaveLength(0);
    await picture('resend-confirm');
    await inDialog('Resend 3').dblclick();
    await title('Bulk resend');
    await page().locator('.heading', { hasText: 'DONE' }).waitFor();
    expect(await fact('Delivered')).toBe('3');
    expect(await fact('Failed')).toBe('0');
    await picture('resend');
    const jobs = await app.given.sql('SELECT reason, actor FROM jobs');
    expect(jobs).toEqual([{ reason: 'They know the exam now', actor: operator.username }]);
    await goTo('#/queue');
    await page().getByText('The queue is empty.').waitFor();
  });

  it('pauses, resumes and aborts a resend', async () => {
    subscribed.partner.answer({ status: 400 });
    await subscribed.booking();
    await subscribed.booking();
    await eventually(async () => (await subscribed.queue()).length === 2);
    subscribed.partner.answer({ status: 400, delayMs: 1500 });
    const { body } = await subscribed.admin('POST', 'error-queue/resend', { filter: {}, reason: 'Slowly' });
    await goTo(`#/resends/${body.resend_id}`);
    await button('Pause').click();
    await page().locator('.heading', { hasText: 'PAUSED' }).waitFor();
    await button('Resume').click();
    await page().locator('.heading', { hasText: 'RUNNING' }).waitFor();
    await button('Abort …').click();
    await inDialog('Abort').click();
    await told(/The resend is aborted/);
    await picture('resend-aborted');
    expect(await button(/Pause|Resume|Abort/).count()).toBe(0);
  });

  it('suspends, resumes and verifies a subscription, and shows a new secret once', async () => {
    await page().getByRole('link', { name: 'Subscriptions' }).click();
    await page().getByRole('link', { name: subscribed.partner.url }).waitFor();
    await picture('subscriptions');
    await page().getByRole('link', { name: subscribed.partner.url }).click();
    await button('Suspend …').click();
    await inDialog('Suspend').click();
    await told('The subscription is suspended.');
    expect((await subscribed.subscription())['state']).toBe('SUSPENDED');
    await button('Resume').click();
    await told('The subscription is active again.');
    expect((await subscribed.subscription())['state']).toBe('ACTIVE');

    subscribed.partner.answer({ status: 400, body: MARKUP });
    await button('Verify').click();
    const problem = page().getByRole('alert');
    await problem.filter({ hasText: 'The partner did not accept the sample' }).waitFor();
    expect(await problem.textContent()).toContain(MARKUP);
    expect(await problem.textContent()).toMatch(/Request id [0-9a-f-]{36}/);
    await picture('subscription-problem');
    expect(watched.refusals.splice(0)).toEqual([`400 POST /admin/subscriptions/${subscribed.id}/verify`]);

    await button('Rotate secret …').click();
    await inDialog('Make a new secret').click();
    expect(await page().getByRole('textbox', { name: 'Signing secret' }).inputValue()).toMatch(/^whsec_/);
    await inDialog('Copy').click();
    await page()
      .getByRole('dialog')
      .getByRole('status')
      .filter({ hasText: /Copied|Selected/ })
      .waitFor();
    await picture('secret');
    await inDialog('Close').click();
    await told('The signing secret is changed.');
  });

  it('makes a subscription, and tells a fault at its field', async () => {
    await goTo('#/subscriptions/new');
    await page().getByLabel('Account code').fill(subscribed.scene.account);
    await page().getByLabel('Partner URL').fill('http://partner.example');
    await page().getByLabel('Authentication').selectOption('bearer');
    await page().getByLabel('Token').fill('of the partner');
    await button('Create').click();
    await page().locator('[name="/partner_url"][aria-invalid="true"]').waitFor();
    expect(await page().locator('[name="/auth/token"]').getAttribute('aria-invalid')).toBe('true');
    await picture('subscription-form');
    expect(watched.refusals.splice(0)).toEqual(['400 POST /admin/subscriptions']);
    await page().getByLabel('Partner URL').fill(`${subscribed.partner.url}/second`);
    await page().getByLabel('Token').fill('partner-token');
    await page().getByLabel('ABSENT', { exact: true }).uncheck();
    await button('Create').click();
    await inDialog('Close').click();
    await title(`${subscribed.partner.url}/second`);
    expect(await fact('Events')).not.toMatch(/, ABSENT/);
    expect(await fact('Authentication')).toBe('bearer');
  });

  it('puts an eligibility on hold and releases it', async () => {
    const eligibility = await app.given.eligibility(subscribed.scene);
    await goTo('#/eligibilities');
    await page().getByLabel('Account code').fill(subscribed.scene.account);
    await page()
      .getByLabel('Candidate id')
      .fill(eligibility['candidate'].candidate_id as string);
    await button('Look up').click();
    await button('Hold …').click();
    await page().getByRole('dialog').getByLabel('Reason').fill('Identity not proved');
    await inDialog('Hold').click();
    await told('The eligibility is on hold.');
    await page().getByRole('cell', { name: 'Identity not proved' }).waitFor();
    await picture('eligibilities');
    await button('Release').click();
    await told('The hold is released.');
    await page().getByRole('cell', { name: 'ELIGIBLE', exact: true }).waitFor();
  });

  it('lists the audit page by page', async () => {
    await goTo(`#/audit?actor=${operator.username}`);
    await title('Audit');
    await page().getByRole('cell', { name: 'subscription.suspend' }).waitFor();
    await picture('audit');
    await app.given.sql(
      `INSERT INTO audit_log (at, actor, action, subject)
       SELECT now(), 'paging', 'test.row', n::text FROM generate_series(1, 70) n`,
    );
    await page().getByLabel('User name').fill('paging');
    await button('Search').click();
    await button('Show more').waitFor();
    await page().getByRole('cell', { name: 'test.row' }).nth(49).waitFor();
    expect(await page().getByRole('cell', { name: 'test.row' }).count()).toBe(50);
    await button('Show more').click();
    await told('20 more, 70 in all.');
    expect(await page().getByRole('cell', { name: 'test.row' }).count()).toBe(70);
    expect(await button('Show more').count()).toBe(0);
  });

  it('fits every window, and every control has a name', async () => {
    const [open] = await subscribed.queue();
    const screens = {
      '#/queue': 'Error queue',
      [`#/queue/notifications?subscription_id=${subscribed.id}`]: 'Notifications in the error queue',
      '#/notifications': 'Notifications',
      [`#/notifications/${open['id']}`]: `BOOKING_CREATED ${open['booking_code']}`,
      '#/subscriptions': 'Subscriptions',
      '#/subscriptions/new': 'New subscription',
      [`#/subscriptions/${subscribed.id}`]: subscribed.partner.url,
      '#/eligibilities': 'Eligibilities',
      '#/audit': 'Audit',
      '#/nowhere': 'There is no such page',
    };
    for (const [screen, heading] of Object.entries(screens)) {
      await goTo(screen);
      await page().getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
      for (const width of [360, 720, 1001, 1280]) {
        await page().setViewportSize({ width, height: 900 });
        const over = await page().evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect([screen, width, over]).toEqual([screen, width, 0]);
      }
      const nameless = await page().evaluate(`
        [...document.querySelectorAll('input, select, textarea')].filter((control) => control.labels.length === 0).length +
        [...document.querySelectorAll('button, a, summary, legend')].filter((control) => !control.textContent.trim()).length`);
      expect([screen, nameless]).toEqual([screen, 0]);
      const ids = await page().evaluate<string[]>('[...document.querySelectorAll("[id]")].map(({ id }) => id)');
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('renews the session without a word, once for all requests that need it', async () => {
    await goTo('#/queue');
    await title('Error queue');
    await app.given.sql(`UPDATE access_tokens SET expires_at = now() - interval '1 second'`);
    await button('Refresh').click();
    await told('The error queue is up to date.');
    const refreshed = await app.given.sql(`SELECT 1 FROM audit_log WHERE action = 'token.refresh'`);
    expect(refreshed).toHaveLength(1);
    expect(watched.refusals.splice(0)).toEqual(expect.arrayContaining(['401 GET /admin/error-queue/summary']));
  });

  it('signs out: the tokens are dead and the page shows nothing more', async () => {
    await button('Sign out').click();
    await title('Sign in');
    expect(await page().getByRole('navigation').count()).toBe(0);
    await eventually(async () => {
      const alive = await app.given.sql('SELECT 1 FROM token_families WHERE username = $1 AND revoked_at IS NULL', [
        operator.username,
      ]);
      return alive.length === 0;
    });
    await goTo('#/subscriptions');
    await title('Sign in');
  });

  it('comes back to sign-in when the session was ended elsewhere', async () => {
    await fill(operator);
    await title('Subscriptions');
    await app.given.sql('UPDATE users SET disabled = true WHERE username = $1', [operator.username]);
    await page().getByRole('link', { name: 'Audit' }).click();
    await told('Your session has ended. Sign in again.');
    await title('Sign in');
    expect(await page().locator('#loading').isHidden()).toBe(true);
    watched.refusals.length = 0;
  });
});

it('works under a path prefix, in the dark and in a narrow window', async () => {
  const app = await startApp({ env: { BASE_PATH: '/v1' } });
  const browser = await startBrowser();
  try {
    const operator = await new OAuth(app).login({ scopes: ['admin'] });
    const { page, complaints } = await openPage(browser, {
      colorScheme: 'dark',
      viewport: { width: 400, height: 800 },
    });
    await page.goto(`${app.url}/console/`);
    for (const [label, value] of Object.entries({
      'Consumer key': operator.consumer_key,
      'Consumer secret': operator.consumer_secret,
      'User name': operator.username,
      Password: operator.password,
    }))
      await page.getByLabel(label).fill(value);
    await page.getByLabel('Password').press('Enter');
    await page.getByText('The queue is empty.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
    await app.close();
  }
});
