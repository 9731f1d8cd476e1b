import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

const { MARKUP } = ConsoleDriver;

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  driver = await ConsoleDriver.start(app, '/partners');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const row = () => driver.page.getByRole('row').filter({ hasText: subscribed.partner.url });
const head = (text: string) => driver.page.locator('.page-head', { hasText: text }).waitFor();
const open = () => driver.goTo(`/partners/${subscribed.id}`);

describe('partners in the console', () => {
  it('the console shows a partner as FAILING when every attempt fails, with the count of its waiting notifications', async () => {
    await row().getByText('Up', { exact: true }).waitFor();
    subscribed.partner.answer({ status: 400, body: `No ${MARKUP}` });
    await subscribed.booking();
    await eventually(async () => (await subscribed.queue()).length === 1);
    await row().getByText('Failing', { exact: true }).waitFor();
    await row().getByText('0 delivered, 1 failed', { exact: true }).waitFor();
    await driver.expectGoodPage('partners');
    await row().getByRole('link', { name: '1', exact: true }).click();
    await driver.title('Error queue');
  });

  it('the partner page shows seven days of delivery attempts, the certificate and the authentication', async () => {
    await driver.goTo('/partners');
    await driver.link(subscribed.partner.url).click();
    await driver.title(subscribed.partner.url);
    await driver.page.getByText('Failed: Refused 1').waitFor();
    await driver.page.getByText(/day.* left/).waitFor();
    await driver.page.getByText('None (requests are signed)').waitFor();
    await driver.page.locator('.chart-drawing').first().waitFor();
    // The table below the chart shows the chart's data by the hour. The console renders the table only when the user
    // opens it.
    const hours = driver.page.locator('.chart-table tbody tr');
    expect(await hours.count()).toBe(0);
    await driver.page.getByText('As a table').first().click();
    await eventually(async () => expect(await hours.count()).toBe(7 * 24));
    await driver.page.getByText('As a table').first().click();
    await driver.expectGoodPage('partner');
  });

  it('the page of a failing partner shows when the failures began, and links to the failed notifications', async () => {
    await head('FAILING');
    await driver.page.getByText(/^Every attempt has failed since/).waitFor();
    await driver.link('Show the failed notifications').click();
    await driver.page.getByRole('row').filter({ hasText: 'HTTP 400' }).waitFor();
    await open();
  });

  it('if nothing waits for a partner that is DOWN, its page says that the next notification causes the next attempt', async () => {
    const setHealth = (health: string, at: string | null) =>
      app.given.sql(
        `UPDATE subscriptions SET health = $2, health_changed_at = now(), next_probe_at = $3 WHERE id = $1`,
        [subscribed.id, health, at],
      );
    await setHealth('DOWN', '2026-01-01T00:00:00Z');
    await open();
    await driver.page.getByText('with the next notification').waitFor();
    await driver.goTo('/');
    await driver.page.locator('.troubles', { hasText: 'next attempt with the next notification' }).waitFor();
    await setHealth('UP', null);
    await open();
  });

  it("the console shows each step of sending a sample notification, and the partner's response as plain text", async () => {
    await driver.page.getByLabel('Kind of sample').selectOption('EXAM_COMPLETED');
    await driver.button('Send a sample').click();
    const report = driver.page.locator('.report');
    await report.getByText('HTTP 400').waitFor();
    await report.getByText(`No ${MARKUP}`).waitFor();
    expect(await report.locator('.steps .badge').allTextContents()).toEqual(['OK', 'OK', 'OK', 'OK', 'Failed']);
    await driver.expectGoodPage('partner-sample');
    subscribed.partner.answer({ status: 200 });
    await driver.button('Send a sample').click();
    await report.getByText('Delivered', { exact: true }).waitFor();
    expect(subscribed.partner.requests.at(-1)!.json).toMatchObject({ change_reason: 'EXAM_COMPLETED' });
  });

  it('after a change of address, the partner page shows why verification failed, or that it succeeded', async () => {
    const answer = await subscribed.patch({ partner_url: `${subscribed.partner.url}/moved` });
    expect(answer.body).toMatchObject({ state: 'UNVERIFIED' });
    await open();
    await head('UNVERIFIED');
    subscribed.partner.answer({ status: 404, body: `Nothing ${MARKUP}` });
    const before = subscribed.partner.requests.length;
    await driver.button('Verify').click();
    const report = driver.page.locator('.report');
    await report.getByText('HTTP 404').waitFor();
    await report.getByText(`Nothing ${MARKUP}`).waitFor();
    expect(await report.locator('.steps .badge').allTextContents()).toEqual(['OK', 'OK', 'OK', 'OK', 'Failed']);
    expect((await subscribed.subscription())['state']).toBe('UNVERIFIED');
    await head('UNVERIFIED');
    subscribed.partner.answer({ status: 200 });
    await driver.button('Verify').focus();
    await driver.page.keyboard.press('Enter');
    await report.getByText('Delivered', { exact: true }).waitFor();
    await driver.page.locator('.page-head', { hasText: 'UNVERIFIED' }).waitFor({ state: 'detached' });
    expect((await subscribed.subscription())['state']).toBe('ACTIVE');
    expect(subscribed.partner.requests.slice(before).map(({ path }) => path)).toEqual(
      Array.from({ length: 2 }, () => expect.stringContaining('/moved')),
    );
    await subscribed.patch({ partner_url: subscribed.partner.url });
    expect((await subscribed.post('verify')).status).toBe(200);
  });

  it('the partner form sends only changed settings, and shows an error beside the faulty field', async () => {
    const before = await subscribed.subscription();
    const retried = driver.page.locator('.facts > div', { hasText: 'Failures retried automatically' }).locator('dd');
    expect(await retried.textContent()).toBe('HTTP 500, HTTP 429');
    await driver.link('Settings').click();
    await driver.title('Settings of a partner');
    await driver.page.getByLabel('No answer in time').waitFor();
    await driver.expectGoodPage('partner-settings');
    await driver.page.getByLabel('Certificate authority, PEM').fill('no certificate');
    await driver.page.getByLabel('Answer timeout in milliseconds').fill('4000');
    await driver.button('Save').click();
    await driver.page.locator('.field', { hasText: 'Certificate authority' }).locator('.fault').waitFor();
    expect(driver.refusals()).toEqual([`400 PATCH /admin/subscriptions/${subscribed.id}`]);
    await driver.page.getByLabel('Certificate authority, PEM').fill(before['ca_pem'] as string);
    await driver.page.getByLabel('Authentication at the partner').selectOption('basic');
    await driver.page.getByLabel('Answer timeout in milliseconds').fill('4000');
    await driver.page.getByLabel('User name').fill('service');
    await driver.page.getByLabel('Password').fill('a secret of theirs');
    await driver.button('Save').click();
    await driver.told('The settings were changed.');
    await driver.title(subscribed.partner.url);
    await driver.page.getByText('User name service').waitFor();
    const { wait_ms, auth, updated_datetime: _, ...after } = await subscribed.subscription();
    expect([wait_ms, auth]).toEqual([4000, { type: 'basic', username: 'service' }]);
    expect({ ...before, ...after, wait_ms: before['wait_ms'], auth: before['auth'] }).toEqual(before);
  });

  it('an operator can choose how the service authenticates to a partner: by headers, or by OAuth 2.0 with a signed assertion', async () => {
    const save = async (type: string, fields: Record<string, string>) => {
      await driver.link('Settings').click();
      await driver.page.getByLabel('Authentication at the partner').selectOption(type);
      for (const [label, value] of Object.entries(fields)) await driver.page.getByLabel(label).fill(value);
      if (type === 'oauth2_client_credentials')
        await driver.page.getByLabel('Client authentication method').selectOption('private_key_jwt');
      await driver.expectGoodPage(`partner-settings-${type}`);
      await driver.button('Save').click();
    };
    await save('headers', { Headers: 'X-Api-Key: a key: of theirs\nHost: elsewhere' });
    await driver.page.locator('.field', { hasText: 'Headers' }).locator('.fault').waitFor();
    expect(driver.refusals()).toEqual([`400 PATCH /admin/subscriptions/${subscribed.id}`]);
    await driver.page.getByLabel('Headers').fill('X-Api-Key: a key: of theirs\n\n X-Tenant :7');
    await driver.button('Save').click();
    await driver.page.getByText('Headers: X-Api-Key, X-Tenant').waitFor();
    await driver.button('Send a sample').click();
    await driver.page.locator('.report').getByText('Delivered', { exact: true }).waitFor();
    expect(subscribed.partner.requests.at(-1)!.headers).toMatchObject({
      'x-api-key': 'a key: of theirs',
      'x-tenant': '7',
    });
    await save('oauth2_client_credentials', {
      'Token URL': 'https://login.example/token',
      'Client id': 'service',
      Audience: 'events',
      Resource: 'https://partner.example/events',
      'More headers': 'X-Tenant: 7',
    });
    await driver.page.getByText('OAuth 2.0 client service at https://login.example/token; headers: X-Tenant').waitFor();
    expect((await subscribed.subscription())['auth']).toEqual({
      type: 'oauth2_client_credentials',
      token_url: 'https://login.example/token',
      client_id: 'service',
      client_auth: 'private_key_jwt',
      scope: null,
      audience: 'events',
      resource: 'https://partner.example/events',
      headers: [{ name: 'X-Tenant' }],
    });
  });

  it('the partner form requires the credentials again for a new host, and warns of a duplicate address', async () => {
    await driver.link('Settings').click();
    await driver.page.getByLabel('Address').fill('https://other.example/hooks');
    await driver.button('Save').click();
    await driver.page.getByText('The credentials for the new host are missing').waitFor();
    expect(driver.refusals()).toEqual([`400 PATCH /admin/subscriptions/${subscribed.id}`]);
    const { account } = subscribed.scene;
    const { body } = await subscribed.admin('POST', 'subscriptions', {
      account_code: account,
      partner_url: `${subscribed.partner.url}/`,
    });
    await open();
    await driver.page.getByText(`Subscription ${body.id} of this account has the same address`).waitFor();
    await driver.expectGoodPage('partner-warned');
    await subscribed.admin('DELETE', `subscriptions/${body.id}`);
    await subscribed.patch({ auth: null });
    await open();
  });

  it('a partner can be suspended and resumed, after a dialog that explains the effect', async () => {
    await open();
    await driver.button('Suspend …').click();
    await driver.page.getByText('No notifications will be sent until you resume').waitFor();
    await driver.expectGoodPage('partner-suspend');
    await driver.inDialog('Suspend').click();
    await head('SUSPENDED');
    await driver.button('Resume …').click();
    await driver.inDialog('Resume').click();
    await driver.told('The partner was resumed.');
    await driver.button('Suspend …').waitFor();
    expect((await subscribed.subscription())['state']).toBe('ACTIVE');
  });

  it('the console shows a new signing secret of a partner only once', async () => {
    await driver.button('Rotate the secret …').click();
    await driver.inDialog('Create new secret').click();
    const secret = await driver.dialog('The new signing secret').locator('code').textContent();
    expect(secret).toMatch(/^whsec_/);
    await driver.inDialog('I have copied the secret').click();
    await driver.dialog().waitFor({ state: 'detached' });
    expect(await driver.page.getByText(secret!).count()).toBe(0);
  });

  it('an operator can replay the notifications that a partner lost', async () => {
    const booking = await subscribed.booking();
    const delivered = () => subscribed.partner.requests.filter(({ json }) => json?.booking_code === booking).length;
    await eventually(() => delivered() === 1);
    await driver.page.getByLabel('Booking code').fill(booking);
    await driver.page.keyboard.press('Enter');
    await driver.button('Replay …').click();
    await driver.dialog().getByText('notification matches').waitFor();
    await driver.dialog().getByLabel('Reason').fill('Their disk broke');
    await driver.inDialog(/^Replay 1$/).click();
    await driver.title(/./);
    await eventually(() => delivered() === 2);
  });

  it('an operator can delete a partner after entering its name in a dialog that shows the number of unsent notifications', async () => {
    subscribed.partner.answer({ status: 400 });
    await subscribed.booking();
    await eventually(async () => (await subscribed.queue()).length === 2);
    await open();
    await driver.button('Delete …').click();
    await driver.dialog().getByText('The undelivered events for 2 bookings will be resolved').waitFor();
    await driver.inDialog('Delete').click();
    await driver.dialog().getByText('Type the text exactly as shown.').waitFor();
    await driver.dialog().getByLabel('Type delete to continue').fill('delete');
    await driver.inDialog('Delete').click();
    await driver.told('The partner was deleted.');
    await driver.title('Partners');
    await row().waitFor({ state: 'detached' });
    expect((await subscribed.get(`/admin/subscriptions/${subscribed.id}`)).status).toBe(404);
  });
});
