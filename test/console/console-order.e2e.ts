import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const HOUR_MS = 3_600_000;
/**
 * The time limit for counts to appear. A busy service updates its counts less often, so the counts that a page shows
 * may be several seconds old.
 */
const COUNTED = { timeout: 50_000 };

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
/**
 * The codes of three bookings, sorted by the times of their exams. The booking with the latest exam was created first.
 */
let soonest: string;
let soon: string;
let later: string;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  subscribed.partner.answer({ status: 400 });
  const booking = (hours: number) => subscribed.booking({ booking_on: dateTime(Date.now() + hours * HOUR_MS) });
  later = await booking(100);
  soonest = await booking(1);
  soon = await booking(1.5);
  await eventually(async () => (await subscribed.queue()).length === 3);
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const firstCells = async () => {
  const cells = await driver.page.locator('tbody td.main').allTextContents();
  return cells.map((text) => text.replace(/no\. \d+$/, ''));
};

describe('the figures of the home page', () => {
  it('the figures on the home page link to the notifications that they count, sorted by the time until the exam', async () => {
    await driver.link('within 2 hours: 2').waitFor(COUNTED);
    await driver.expectGoodPage('home-figures');
    await driver.link('within 2 hours: 2').click();
    await driver.title('Notifications');
    await driver.page.getByText('sorted by the time until the exam').waitFor();
    await driver.page.getByText('2 rows', { exact: true }).waitFor();
    expect(await firstCells()).toEqual([soonest, soon]);
    await driver.expectGoodPage('notifications-soon');
    await driver.goTo('');
    await driver.link(/^Records on hold/).click();
    await driver.title('Holds');
  }, 120_000);

  it('the notifications that a figure on the home page counts can be listed page by page and filtered', async () => {
    const read = async (query: string) => {
      const answer = await subscribed.get(`/admin/notifications?${query}`);
      expect([query, answer.status]).toEqual([query, 200]);
      const next = /<[^?]*\?([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
      return { codes: answer.body.map((one: { booking_code: string }) => one.booking_code), next };
    };
    const first = await read('exam_in=2h&limit=1');
    expect(first.codes).toEqual([soonest]);
    const second = await read(first.next!);
    expect(second).toEqual({ codes: [soon], next: undefined });
    expect((await read('exam_in=7d')).codes).toEqual([later]);
    expect((await read('exam_in=past')).codes).toEqual([]);
    expect((await read(`exam_in=2h&booking_code=${soon}`)).codes).toEqual([soon]);
    expect((await read('exam_in=2h&state=PENDING')).codes).toEqual([]);
    const wrong = await subscribed.get('/admin/notifications?exam_in=soon');
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([400, 'exam_in_unknown']);
  });
});

describe('a list of the console', () => {
  it('successive clicks on a column header sort a list in ascending, then in descending, then in its original order', async () => {
    await driver.goTo('/notifications?state=ERROR_QUEUE');
    await driver.page.getByText('3 rows', { exact: true }).waitFor();
    expect(await firstCells()).toEqual([soon, soonest, later]);
    const header = driver.page.getByRole('columnheader', { name: /^Exam/ });
    const press = () => header.getByRole('button').click();
    await press();
    expect(await header.getAttribute('aria-sort')).toBe('ascending');
    expect(await firstCells()).toEqual([soonest, soon, later]);
    await driver.expectGoodPage('notifications-sorted');
    await press();
    expect(await header.getAttribute('aria-sort')).toBe('descending');
    expect(await firstCells()).toEqual([later, soon, soonest]);
    await press();
    expect(await header.getAttribute('aria-sort')).toBeNull();
    expect(await firstCells()).toEqual([soon, soonest, later]);
  });

  it('a list is loaded completely before it is sorted', async () => {
    await queueMany(subscribed, 120);
    await driver.goTo('/queue/notifications');
    await driver.page.getByText('50 shown, more available').waitFor();
    await driver.page.getByRole('columnheader', { name: 'Candidate' }).getByRole('button').click();
    await driver.page.getByText('123 rows', { exact: true }).waitFor();
    const candidates = await driver.page.locator('td[data-label="Candidate"]').allTextContents();
    // Digits within the ids are compared as numbers: C-2 comes before C-10.
    expect(candidates.slice(0, 3)).toEqual(['C-1', 'C-2', 'C-3']);
  });

  it('a list with more than 1,000 rows says that only its first 1,000 rows are sorted', async () => {
    await queueMany(subscribed, 1_000);
    await driver.goTo('/queue/notifications');
    await driver.page.getByText('50 shown, more available').waitFor();
    await driver.page.getByRole('columnheader', { name: 'Candidate' }).getByRole('button').click();
    const note = 'Only the first 1,000 rows are sorted. Narrow the filters to sort all rows.';
    await driver.page.getByText(note, { exact: true }).waitFor({ timeout: 60_000 });
    // The first table of the console is drawn in steps.
    await driver.page.locator('tbody tr').nth(999).waitFor();
    expect(await driver.page.locator('tbody tr').count()).toBe(1_000);
  }, 120_000);
});
