import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { BulkJobs, queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let quick: Subscribed;
let slow: Subscribed;
let failing: Subscribed;
let moved: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  quick = await Subscribed.start(app, { name: 'Quick' });
  slow = await Subscribed.start(app, { name: 'Slow' }, { scene: quick.scene });
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await quick?.stop();
  await slow?.stop();
  await failing?.stop();
  await moved?.stop();
  await app?.close();
});

describe('the page of a job', () => {
  it('the rows of a running job are updated together with its counts', async () => {
    await queueMany(quick, 1);
    await queueMany(slow, 1);
    const gates = [quick, slow].map(({ partner }) => {
      let open = () => {};
      const opened = new Promise<void>((resolve) => (open = resolve));
      partner.answer(() => opened.then(() => ({ status: 200 })));
      return open;
    });
    const jobs = new BulkJobs(app, quick.operator);
    const job = await jobs.start('error-queue/resend', { filter: { account_code: quick.scene.account } });
    await driver.goTo(`/jobs/${job}`);
    const row = (text: string) => driver.page.getByRole('row').filter({ hasText: text });
    await row('Quick').getByText('SENT').waitFor();
    gates[0]();
    await driver.page.getByText('1 delivered').waitFor();
    await row('Quick').getByText('DELIVERED').waitFor();
    await driver.page.locator('.page-head', { hasText: 'RUNNING' }).waitFor();
    gates[1]();
    await driver.page.locator('.page-head', { hasText: 'DONE' }).waitFor();
    await row('Slow').getByText('DELIVERED').waitFor();
  });

  it('a job that is not limited to one partner shows its account and filter, and its rows name the candidate and the exam', async () => {
    moved = await Subscribed.start(app, { name: 'Moved' });
    const { account } = moved.scene;
    await moved.admin('PUT', `accounts/${account}`, { name: 'Board of Lyon' });
    moved.partner.answer({ status: 400 });
    const candidate = { first_name: 'Ada', last_name: 'Lovelace' };
    const record = await app.given.eligibility(moved.scene, { candidate });
    const { booking_code: code, booking_on: before } = await app.given.booking(moved.scene, record);
    await moved.reschedule(code as string);
    await eventually(async () => expect(await moved.queue()).toHaveLength(2));
    moved.partner.answer({ status: 200 });
    const jobs = new BulkJobs(app, moved.operator);
    const filter = { account_code: account, change_reason: 'BOOKING_RESCHEDULED' };
    const job = await jobs.start('error-queue/resend', { filter });
    await jobs.having(job, { state: 'DONE' });
    const scope = 'Board of Lyon · Event: Booking rescheduled';
    await driver.goTo('/queue');
    await driver.page.locator('.jobs li').getByText(scope, { exact: true }).waitFor();
    await driver.goTo('/jobs');
    const listed = driver.page.getByRole('row').filter({ has: driver.page.getByText(scope, { exact: true }) });
    await listed.getByRole('link', { name: 'Resend' }).click();
    const fact = driver.page.locator('.facts > div', { hasText: 'Event' });
    await fact.getByText('Booking rescheduled', { exact: true }).waitFor();
    const item = driver.page.getByRole('row').filter({ hasText: code as string });
    await item.getByText('Ada Lovelace', { exact: true }).waitFor();
    await item.getByText(record['candidate'].candidate_id as string, { exact: true }).waitFor();
    await item.getByText(/^moved from \d+ /).waitFor();
    const [{ booking_on: after }] = await moved.notifications('&change_reason=BOOKING_RESCHEDULED');
    const starts = await item.locator('time').evaluateAll((times) => times.map((time) => time.dateTime));
    expect(starts).toEqual([after, before]);
    await driver.expectGoodPage('job-moved');
  });

  it('the page of an aborted job counts the remaining notifications as not processed', async () => {
    await slow.post('suspend');
    await queueMany(slow, 3);
    const jobs = new BulkJobs(app, slow.operator);
    const job = await jobs.start('error-queue/resend', { filter: { subscription_id: slow.id } });
    await driver.goTo(`/jobs/${job}`);
    const legend = driver.page.locator('.progress-legend');
    await legend.getByText('3 waiting', { exact: true }).waitFor();
    await driver.button('Abort …').click();
    await driver.inDialog('Abort').click();
    await legend.getByText('3 not processed', { exact: true }).waitFor();
    expect(await legend.textContent()).not.toContain('waiting');
    await driver.page.getByText('3 notifications were not processed and stay in the error queue.').waitFor();
  });
});

describe('the dialog for an action on all rows of a filter', () => {
  it('the dialog for a bulk action lists the first notifications that the job will process', async () => {
    quick.partner.answer({ status: 200 });
    quick.partner.requests.length = 0;
    await queueMany(quick, 7);
    await driver.goTo(`/queue/notifications?subscription_id=${quick.id}`);
    await driver.button('Resend …').click();
    await driver.dialog().getByText('7 notifications match now.').waitFor();
    const list = driver.dialog().getByRole('list', { name: 'The first matching notifications' });
    const shown = await list.locator('strong').allTextContents();
    await list.getByText('… and 2 more', { exact: true }).waitFor();
    await driver.dialog().getByLabel('Reason').fill('They know the exam now');
    await driver.inDialog('Resend 7').click();
    await driver.title('Resend');
    await driver.page.locator('.page-head', { hasText: 'DONE' }).waitFor();
    const job = new URL(driver.page.url()).pathname.split('/').at(-1)!;
    const { body: items } = await new BulkJobs(app, quick.operator).call('GET', `jobs/${job}/items`);
    const processed = (items as { booking_code: string }[]).map(({ booking_code: code }) => code);
    expect(shown).toEqual(processed.slice(0, 5));
    expect(quick.partner.requests[0].json).toMatchObject({ candidate_id: 'C-1' });
    expect(shown[0]).toBe('M000000001');
  });
});

describe('the latest answer of a failing partner', () => {
  it("the latest answer of a failing partner is one click away from the partner's page and from the error queue", async () => {
    failing = await Subscribed.start(app, { name: 'Failing' });
    failing.partner.answer({ status: 400, body: 'The board knows no such exam' });
    await failing.booking();
    const answer = driver.dialog('Partner’s latest answer').getByText('The board knows no such exam');
    await driver.goTo(`/partners/${failing.id}`);
    await driver.button('Show the latest answer').click();
    await answer.waitFor();
    await driver.expectGoodPage('latest-answer');
    await driver.inDialog('Close').click();
    await driver.goTo(`/queue?subscription_id=${failing.id}`);
    await driver.button('Show the latest answer').click();
    await answer.waitFor();
    await driver.link(/^[A-Z0-9]{10}$/).click();
    await driver.title(/^Booking created/);
  });
});
