import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { queueMany } from '../support/queued';
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

const unauthorized = () =>
  driver.refusals().filter((refusal) => refusal.startsWith('401 ') && !refusal.includes('GET'));

describe('a session that expires while a form is being filled in', () => {
  it('the partner form keeps its input when the session expires, and saves the settings once after the new sign-in', async () => {
    await driver.goTo(`/partners/${subscribed.id}/settings`);
    await driver.page.getByLabel('Authentication at the partner').selectOption('basic');
    await driver.page.getByLabel('User name').fill('service');
    await driver.page.getByLabel('Password').fill('a secret of theirs');
    await driver.page.getByLabel('Answer timeout in milliseconds').fill('4321');
    await driver.expire();
    await driver.button('Save').click();
    await driver.dialog('Your session has ended').waitFor();
    expect(await driver.page.locator('#main').getByLabel('Answer timeout in milliseconds').inputValue()).toBe('4321');
    await driver.signInAgain();
    await driver.told('The settings were changed.');
    const { wait_ms, auth } = await subscribed.subscription();
    expect([wait_ms, auth]).toEqual([4321, { type: 'basic', username: 'service' }]);
    expect(unauthorized()).toEqual([`401 PATCH /admin/subscriptions/${subscribed.id}`]);
  });

  it('a dialog keeps the typed reason when the session expires, and submits it once after the new sign-in', async () => {
    const record = await app.given.eligibility(subscribed.scene);
    const candidate = record['candidate'].candidate_id as string;
    const id = record['svc_eligiblity_id'] as string;
    await driver.goTo(`/candidates/${subscribed.scene.account}/${candidate}`);
    await driver.button('Hold …').click();
    await driver.dialog('Hold this record?').getByLabel('Reason').fill('Two people, one name');
    await driver.expire();
    await driver.inDialog('Hold').click();
    await driver.dialog('Your session has ended').waitFor();
    await driver.signInAgain();
    await driver.told('The record was held.');
    const [row] = await app.given.sql('SELECT hold_reason FROM eligibilities WHERE svc_eligiblity_id = $1', [id]);
    expect(row).toEqual({ hold_reason: 'Two people, one name' });
    expect(unauthorized()).toEqual([`401 POST /admin/eligibilities/${id}/hold`]);
  });

  it('a set-up form keeps its input when the new sign-in fails with a wrong password or its dialog is closed with Escape', async () => {
    const username = app.given.unique('late-');
    await driver.goTo('/setup/users');
    await driver.button('New user …').click();
    const form = driver.dialog('New user');
    await form.getByLabel('User name').fill(username);
    await form.getByLabel('Password').fill('seven grey herons wait');
    await form.getByLabel('Accounts').first().fill(subscribed.scene.account);
    await driver.expire();
    await driver.inDialog('Create').click();
    const ended = driver.dialog('Your session has ended');
    await ended.getByLabel('Password').fill('not the password');
    await ended.getByRole('button', { name: 'Sign in' }).click();
    await ended.getByRole('alert').waitFor();
    await driver.page.keyboard.press('Escape');
    await driver.signInAgain();
    await driver.told('User created.');
    const [row] = await app.given.sql(
      'SELECT array_agg(account_code) AS accounts FROM user_accounts WHERE username = $1',
      [username],
    );
    expect(row).toEqual({ accounts: [subscribed.scene.account] });
    expect(unauthorized()).toEqual(['401 POST /admin/users']);
  });

  it('a bulk resend keeps its reason when the session expires, and creates one job after the new sign-in', async () => {
    await queueMany(subscribed, 3);
    await driver.goTo(`/queue/notifications?subscription_id=${subscribed.id}`);
    await driver.button('Resend …').click();
    await driver.dialog().getByText('notifications match now.').waitFor();
    await driver.dialog().getByLabel('Reason').fill('They are back');
    await driver.expire();
    await driver.inDialog('Resend 3').click();
    await driver.dialog('Your session has ended').waitFor();
    await driver.signInAgain();
    await driver.title('Resend');
    const jobs = await eventually(() => app.given.sql('SELECT reason, actor FROM jobs'));
    expect(jobs).toEqual([{ reason: 'They are back', actor: driver.operator.username }]);
    expect(unauthorized()).toEqual(['401 POST /admin/error-queue/resend']);
  });
});
