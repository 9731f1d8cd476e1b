import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

const { MARKUP } = ConsoleDriver;

/**
 * Tests the pages of the error queue, from the list of causes to a bulk job. The partners in these tests fail in
 * different ways.
 */
describe('the error queue in the console', () => {
  let app: TestApp;
  let driver: ConsoleDriver;
  let subscribed: Subscribed;
  let bookings: string[];

  beforeAll(async () => {
    app = await startApp();
    subscribed = await Subscribed.start(app);
    subscribed.partner.answer({ status: 400, body: `No such exam ${MARKUP}` });
    bookings = await failed(4);
    driver = await ConsoleDriver.start(app, '/queue', { timezoneId: 'America/New_York' });
  });
  afterEach(() => driver.expectNoComplaints());
  afterAll(async () => {
    await driver?.stop();
    await subscribed?.stop();
    await app?.close();
  });

  /** Creates bookings whose first event enters the error queue; returns their codes. */
  async function failed(count: number): Promise<string[]> {
    const codes: string[] = [];
    const before = (await subscribed.queue()).length;
    for (let made = 0; made < count; made++) {
      const eligibility = await app.given.eligibility(subscribed.scene, { candidate: { first_name: MARKUP } });
      codes.push((await app.given.booking(subscribed.scene, eligibility))['booking_code'] as string);
    }
    await eventually(async () => (await subscribed.queue()).length === before + count);
    return codes;
  }

  const row = (text: string | RegExp) => driver.page.getByRole('row').filter({ hasText: text });
  const fact = (term: string) => driver.page.locator('.facts > div', { hasText: term }).locator('dd').textContent();
  const legend = (text: string) => driver.page.locator('.progress-legend', { hasText: text }).first().waitFor();

  it('the error queue shows each cause of failure with its count, its age, the next exam and a remedy', async () => {
    const cause = row('Refused');
    await cause.waitFor();
    const cells = await cause.getByRole('cell').allTextContents();
    expect(cells.slice(0, 3)).toEqual([
      'RefusedHTTP 400 · The partner does not know this candidate or exam',
      expect.stringContaining(subscribed.partner.url),
      '4',
    ]);
    expect(cells[3]).toMatch(/^\d{1,2} \w+ \d{4}, \d\d:\d\d in Chicago · .* GMT-[45] · in \d+d/);
    expect(cells[4]).toMatch(/^\d{1,2} \w+ \d{4}, \d\d:\d\d GMT-[45] .*\d\d:\d\d UTC · /);
    expect(cells[5]).toContain('The partner refuses these events. Read the answer');
    await driver.expectGoodPage('queue');
  });

  it('the error queue keeps its filters in the address, and can be filtered by booking', async () => {
    await driver.link('Read the answers').click();
    await driver.title('Refused');
    await driver.page.getByText('4 rows', { exact: true }).waitFor();
    expect(await driver.page.getByRole('row').count()).toBe(5);
    expect(new URL(driver.page.url()).searchParams.get('failure')).toBe('client_error');
    await driver.page.getByLabel('Booking code').fill(bookings[2]);
    await driver.page.keyboard.press('Enter');
    await driver.page.getByText('1 row', { exact: true }).waitFor();
    await driver.page.reload();
    await row(bookings[2]).waitFor();
    expect(await driver.page.getByRole('row').count()).toBe(2);
    await driver.button('Clear').click();
    await driver.page.getByText('4 rows', { exact: true }).waitFor();
    await driver.expectGoodPage('queue-cause');
  });

  it('the notification page never treats text from partners and candidates as markup', async () => {
    await driver.link(bookings[0]).click();
    await driver.openPage();
    await driver.title(`Booking created ${bookings[0]}`);
    await driver.page.getByText(`No such exam ${MARKUP}`).waitFor();
    await driver.page.getByText('Show the notification body').click();
    await driver.page.getByText(JSON.stringify(MARKUP)).waitFor();
    await driver.page.getByText('Request headers').click();
    await driver.page.getByText('v1,••••••••').waitFor();
    await driver.expectGoodPage('notification');
  });

  it('an operator can copy a notification as a curl command that sends the same request without the secret', async () => {
    await driver.page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.url });
    await driver.button('Copy as curl').click();
    await driver.told('Copied.');
    const command = await driver.page.evaluate<string>('navigator.clipboard.readText()');
    const [queued] = await subscribed.notifications(`&booking_code=${bookings[0]}`);
    expect(command).toContain(`curl --request PUT '${subscribed.partner.url}/notifications'`);
    expect(command).toContain(`'webhook-id: ${queued['id'] as string}'`);
    expect(command).toContain(MARKUP.replaceAll('"', '\\"'));
  });

  it('an operator can resolve a notification with a reason by keyboard alone', async () => {
    await driver.button('Resolve …').focus();
    await driver.page.keyboard.press('Enter');
    await driver.dialog('Resolve this notification?').waitFor();
    await driver.inDialog('Resolve').click();
    await driver.page.getByText('Required.').waitFor();
    await driver.page.getByLabel('Reason').focus();
    await driver.page.keyboard.type('Told them by telephone');
    await driver.page.keyboard.press('Tab');
    await driver.page.keyboard.press('Tab');
    await driver.page.keyboard.press('Enter');
    await driver.told('The notification was resolved.');
    await driver.page.locator('.page-head', { hasText: 'RESOLVED' }).waitFor();
    const [resolved] = await subscribed.notifications(`&booking_code=${bookings[0]}`);
    expect(resolved['state']).toBe('RESOLVED');
  });

  it('an operator who resends a notification sees that the resend failed as well', async () => {
    await driver.goTo(`/notifications?booking_code=${bookings[1]}`);
    await driver.link(bookings[1]).click();
    await driver.button('Resend …').click();
    await driver.inDialog('Resend').click();
    await driver.told('The notification was resent.');
    await driver.page.getByText('Manual resend').waitFor();
    await driver.page.locator('.page-head', { hasText: 'ERROR QUEUE' }).waitFor();
  });

  it('an operator can resend the notifications selected in a list', async () => {
    subscribed.partner.answer({ status: 200 });
    await driver.goTo('/queue/notifications');
    const ids = (await subscribed.queue()).map(({ id }) => id as string);
    await driver.page.getByRole('checkbox', { name: `Choose ${ids[0]}` }).check();
    await driver.page.getByRole('group', { name: 'Selected rows' }).getByText('1 selected').waitFor();
    await driver.expectGoodPage('queue-chosen');
    await driver.button('Resend selected …').click();
    await driver.inDialog('Resend 1').click();
    await driver.told('1 of 1 resent.');
    await eventually(async () => (await subscribed.queue()).length === 2);
  });

  it('the dialog to resend all notifications with one cause lists these notifications, and a double click creates one job', async () => {
    await driver.goTo('/queue');
    await row('Refused').waitFor();
    driver.clicks.length = 0;
    await driver.link('Read the answers').click();
    await driver.title('Refused');
    await driver.button('Resend …').click();
    const dialog = driver.dialog('Resend these notifications?');
    await dialog.getByText('2 notifications match now.').waitFor();
    expect(await dialog.getByRole('listitem').count()).toBe(2);
    expect(await app.given.sql('SELECT 1 FROM jobs')).toHaveLength(0);
    await dialog.getByLabel('Reason').fill('They know the exam now');
    await driver.inDialog('Resend 2').dblclick();
    await driver.title('Resend');
    await driver.page.locator('.page-head', { hasText: 'DONE' }).waitFor();
    await legend('2 delivered');
    // When the operator double-clicks the button, only the first click has an effect.
    expect(driver.clicks).toEqual(['Read the answers', 'Resend …', 'Resend 2', 'Resend 2']);
    expect(await fact('Reason')).toBe('They know the exam now');
    const jobs = await app.given.sql('SELECT reason, actor FROM jobs');
    expect(jobs).toEqual([{ reason: 'They know the exam now', actor: driver.operator.username }]);
    await driver.expectGoodPage('job');
    await driver.goTo('/queue');
    await driver.page.getByText('The error queue is empty').waitFor();
  });

  it("after an alert, an operator needs five clicks to correct the partner's settings and resend its notifications", async () => {
    subscribed.partner.answer({ status: 401 });
    await failed(2);
    await driver.goTo('/queue');
    driver.clicks.length = 0;
    await row('Not authorized').getByRole('link', { name: 'Correct the settings' }).click();
    await driver.title('Settings of a partner');
    await driver.page.getByLabel(/^Authentication at the partner/).selectOption('bearer');
    await driver.page.getByLabel(/^Token/).fill('the-new-token');
    subscribed.partner.answer({ status: 200 });
    await driver.button('Save').click();
    await driver.link('Error queue for this partner').click();
    await driver.button('Resend …').click();
    await driver.dialog().getByLabel('Reason').fill('They gave us a new token');
    await driver.inDialog('Resend 2').click();
    await driver.title('Resend');
    await driver.page.locator('.page-head', { hasText: 'DONE' }).waitFor();
    await legend('2 delivered');
    expect(driver.clicks).toEqual([
      'Correct the settings',
      'Save',
      'Error queue for this partner',
      'Resend …',
      'Resend 2',
    ]);
    expect(await subscribed.queue()).toHaveLength(0);
  });

  it('an operator can see, pause and abort a bulk job that another operator started', async () => {
    subscribed.partner.answer({ status: 400 });
    await failed(2);
    subscribed.partner.answer({ status: 400, delayMs: 1500 });
    await driver.goTo('/queue');
    const other = await driver.another('/jobs');
    // The test moves the pointer away from the list, because the console adds no new rows to a list while the pointer
    // is over it.
    await other.page.mouse.move(2, 2);
    await driver.button(/^Resend … Refused/).click();
    await driver.dialog().getByLabel('Reason').fill('Slowly');
    await driver.inDialog('Resend 2').click();
    await driver.title('Resend');
    const job = other.page.getByRole('row').filter({ hasText: 'Slowly' });
    await job.getByText(driver.operator.username).waitFor();
    await job.getByRole('button', { name: /^Pause/ }).click();
    await driver.page.locator('.page-head', { hasText: 'PAUSED' }).waitFor();
    await driver.page.getByText(`Paused by ${other.operator.username}.`).waitFor();
    await driver.button('Resume').click();
    await driver.page.locator('.page-head', { hasText: 'RUNNING' }).waitFor();
    await driver.button('Abort …').click();
    await driver.inDialog('Abort').click();
    await driver.told('The job was aborted.');
    await driver.page.locator('.page-head', { hasText: 'ABORTED' }).waitFor();
    expect(await driver.button(/Pause|Resume|Abort/).count()).toBe(0);
    await other.expectGoodPage('jobs');
    await other.page.close();
  });

  it('an operator can save a list as a CSV file, and no cell of the file is a formula in a spreadsheet', async () => {
    await driver.goTo('/jobs');
    const [file] = await Promise.all([driver.page.waitForEvent('download'), driver.button('CSV').click()]);
    expect(file.suggestedFilename()).toBe('jobs.csv');
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
    const lines = Buffer.concat(chunks).toString().trim().split('\r\n');
    expect(lines[0]).toBe('Job,Scope,State,Progress,Reason,Started by,Started,Failed,Id');
    expect(lines).toHaveLength(4);
  });

  it('the console remembers which columns of a list the operator has chosen', async () => {
    await driver.goTo('/notifications');
    await driver.button('Columns').click();
    await driver.page.getByRole('menuitemcheckbox', { name: 'Account' }).click();
    await driver.page.keyboard.press('Escape');
    await driver.page.reload();
    await driver.page.getByRole('columnheader', { name: 'Account' }).waitFor();
    await driver.expectGoodPage('notifications');
  });
});
