import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

const { MARKUP } = ConsoleDriver;
const DAY_MS = 86_400_000;

let app: TestApp;
let subscribed: Subscribed;
let other: Subscribed;
let admin: ConsoleDriver;
let partner: ConsoleDriver;
/** The user name and the password that the invitation contains. */
let invited: { username: string; password: string };

const fact = (driver: ConsoleDriver, term: string) =>
  driver.page.locator('.facts > div', { has: driver.page.getByText(term, { exact: true }) }).locator('dd');

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app, { name: `The board ${MARKUP}` });
  other = await Subscribed.start(app, { name: 'Another partner' }, { scene: subscribed.scene });
  admin = await ConsoleDriver.start(app, `/partners/${subscribed.id}`);
});
afterEach(async () => {
  await admin.expectNoComplaints();
  await partner?.expectNoComplaints();
});
afterAll(async () => {
  await admin?.stop();
  await subscribed?.stop();
  await other?.stop();
  await app?.close();
});

const open = () => partner.goTo(`/own/${subscribed.id}`);

describe('a partner in the console', () => {
  it('an operator can invite a partner in two clicks, with a password that is shown once', async () => {
    await admin.button('Invite the partner …').waitFor();
    admin.clicks.length = 0;
    await admin.button('Invite the partner …').click();
    await admin.inDialog('Create the invitation').click();
    await admin.dialog('The invitation').waitFor();
    expect(admin.clicks).toHaveLength(2);
    const shown = async (term: string) => (await fact(admin, term).last().locator('code').textContent())!;
    invited = { username: await shown('User name'), password: await shown('Password') };
    expect(await shown('Address')).toBe(`${app.url}/console`);
    expect(invited.username).toMatch(/^partner-the-board-/);
    await admin.expectGoodPage('partner-invitation');
    await admin.inDialog('I have copied the password').click();
    const [user] = await app.given.sql('SELECT scopes, subscription_ids FROM users WHERE username = $1', [
      invited.username,
    ]);
    expect(user).toEqual({ scopes: ['partner'], subscription_ids: [subscribed.id] });
  });

  it('a partner can sign in, and sees its own subscription with its health in plain words', async () => {
    subscribed.partner.answer({ status: 400, body: `No ${MARKUP}` });
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
    partner = await admin.visitor('', { ...admin.operator, ...invited });
    await partner.title('The board');
    expect(new URL(partner.page.url()).pathname).toBe(`/console/own/${subscribed.id}`);
    await partner.page.getByText('The latest delivery attempt failed.').waitFor();
    expect(await partner.page.getByRole('navigation', { name: 'Areas' }).getByRole('link').allTextContents()).toEqual([
      'My subscriptions',
      'My notifications',
    ]);
    expect(await partner.button('Search or go to …').count()).toBe(0);
    await partner.expectGoodPage('own-subscription');
    expect(partner.refusals()).toEqual([]);
  });

  it('a partner that opens a page for operators is redirected to its own page, and no request is refused', async () => {
    for (const path of ['', '/queue', '/partners', `/partners/${other.id}`, '/setup/users', '/audit', '/jobs']) {
      await partner.goTo(path);
      await partner.title('The board');
    }
    await partner.page.keyboard.press('Control+k');
    expect(await partner.dialog().count()).toBe(0);
    expect(partner.refusals()).toEqual([]);
  });

  it('a partner cannot see the subscription of another partner', async () => {
    await partner.goTo(`/own/${other.id}`);
    await partner.page.getByText('There is no such subscription.').waitFor();
    expect(partner.refusals().every((text) => text.startsWith('404 '))).toBe(true);
  });

  it("a partner can see its failed notifications with its endpoint's answers, and resend one", async () => {
    await open();
    await partner.link('Show the failed notifications').click();
    const row = partner.page.getByRole('row').filter({ hasText: 'HTTP 400' });
    await row.waitFor();
    await partner.expectGoodPage('own-notifications');
    await row.getByRole('link').first().click();
    await partner.page.getByLabel('Partner’s answer to attempt 1').getByText(`No ${MARKUP}`).waitFor();
    await partner.expectGoodPage('own-notification');
    subscribed.partner.answer({ status: 200 });
    await partner.button('Send again …').click();
    await partner.inDialog('Send again').click();
    await partner.page.locator('.page-head', { hasText: 'DELIVERED' }).waitFor();
    await partner.page.getByText('Manual resend').waitFor();
  });

  it('a partner can have a delivered notification sent again', async () => {
    subscribed.partner.requests.length = 0;
    await partner.button('Send again …').click();
    await partner.inDialog('Send again').click();
    await subscribed.partner.received(1);
    await partner.page.getByText('Replay', { exact: true }).waitFor();
  });

  it('a partner can replay the notifications of the last week, and sees the progress even after a reload', async () => {
    await open();
    subscribed.partner.requests.length = 0;
    await partner.button('Replay the last 7 days …').click();
    await partner.inDialog('Replay').click();
    await partner.page.getByText('1 delivered', { exact: true }).waitFor();
    await subscribed.partner.received(1);
    await partner.page.reload();
    await partner.page.getByText('1 delivered', { exact: true }).waitFor();
  });

  it("a replay covers the last seven days by the service's clock, even if the browser's clock is wrong", async () => {
    const late = await admin.visitor('', { ...admin.operator, ...invited });
    await late.page.addInitScript(`{ const real = Date.now; Date.now = () => real() + ${30 * DAY_MS}; }`);
    await late.goTo(`/own/${subscribed.id}`);
    await late.button('Replay the last 7 days …').click();
    await late.inDialog('Replay').click();
    await late.page.getByText('Done.').waitFor();
    const [job] = await app.given.sql(
      `SELECT filter->>'from' AS "from" FROM jobs WHERE kind = 'REPLAY' ORDER BY position DESC LIMIT 1`,
    );
    expect(Math.abs(Date.now() - 7 * DAY_MS - Date.parse(job['from'] as string))).toBeLessThan(120_000);
    await late.page.context().close();
  });

  it('a partner can pause and resume its deliveries, but cannot resume them after an operator suspended them', async () => {
    await open();
    await partner.button('Pause …').click();
    await partner.inDialog('Pause').click();
    await partner.page.getByText('You have paused the delivery.').waitFor();
    await partner.button('Resume …').click();
    await partner.inDialog('Resume').click();
    await partner.page.getByText('Your endpoint accepts notifications.').waitFor();
    await subscribed.post('suspend');
    await partner.page.getByText('The operators of the service have suspended the delivery.').waitFor();
    expect(await partner.button('Resume …').count()).toBe(0);
    await subscribed.post('resume');
    await partner.button('Pause …').waitFor();
  });

  it('a partner can have a sample notification sent to its endpoint, and sees the endpoint’s response', async () => {
    subscribed.partner.requests.length = 0;
    await partner.button('Send a sample').click();
    await partner.page.getByText('Your endpoint answered the sample with status 200.').waitFor();
    expect(subscribed.partner.requests).toHaveLength(1);
    subscribed.partner.answer({ status: 404, body: 'wrong path' });
    await partner.button('Send a sample').click();
    await partner.page.getByText('wrong path').waitFor();
    await partner.page.getByText('Failure: Refused · HTTP 404').waitFor();
    expect(partner.refusals()).toEqual([`400 POST /partner/subscriptions/${subscribed.id}/verify`]);
    subscribed.partner.answer({ status: 200 });
  });

  it('after a partner creates a new secret, notifications are signed with the old and the new secret', async () => {
    await partner.button('Rotate the secret …').click();
    await partner.page
      .getByText('For 24 hours, requests will be signed with both the old and the new secret')
      .waitFor();
    await partner.inDialog('Create new secret').click();
    await partner
      .dialog('The new signing secret')
      .getByText(/^whsec_/)
      .waitFor();
    await partner.inDialog('I have copied the secret').click();
    subscribed.partner.requests.length = 0;
    await subscribed.booking();
    const [request] = await subscribed.partner.received(1);
    expect(request.headers['webhook-signature'].split(' ')).toHaveLength(2);
  });

  it('a partner sees links to the guide for partners and to the test vectors', async () => {
    const links = partner.page.getByRole('region', { name: 'Test your program' }).getByRole('link');
    const hrefs = await Promise.all((await links.all()).map((one) => one.getAttribute('href')));
    const paths = hrefs.map((href) => new URL(href!).pathname);
    expect(paths).toEqual(['/guide/notifications.html', '/guide/files/clients/partner/vectors.json']);
  });

  it('a partner with several subscriptions can choose one of them', async () => {
    await subscribed.admin('PUT', `users/${invited.username}`, { subscription_ids: [subscribed.id, other.id] });
    await partner.goTo('/own');
    await partner.title('My subscriptions');
    await partner.expectGoodPage('own-subscriptions');
    await partner.link('Another partner').click();
    await partner.title('Another partner');
  });

  it('a partner with several subscriptions sees which one its list of notifications shows, and can choose another', async () => {
    const field = () => partner.page.getByRole('combobox', { name: 'Subscription' });
    const shows = async ({ length }: readonly unknown[]) =>
      partner.page.getByText(`${length} ${length === 1 ? 'row' : 'rows'}`, { exact: true }).waitFor();
    await partner.link(/^Notifications$/).click();
    await eventually(async () => expect(await field().inputValue()).toBe('Another partner'));
    await shows(await other.notifications());
    await field().fill('The board');
    await partner.page.keyboard.press('Enter');
    await partner.page.waitForURL(`**?subscription_id=${subscribed.id}`);
    await shows(await subscribed.notifications());
    await partner.expectGoodPage('own-notifications-chosen');
  });

  it('a partner loses its session when an operator disables its user', async () => {
    await open();
    await partner.title('The board');
    await subscribed.admin('PUT', `users/${invited.username}`, { disabled: true });
    await partner.dialog('Your session has ended').waitFor();
    partner.refusals();
  });
});
