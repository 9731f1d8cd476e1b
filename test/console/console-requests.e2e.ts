import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
let candidate: string;
const asked: string[] = [];

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  await queueMany(subscribed, 60);
  candidate = (await app.given.eligibility(subscribed.scene))['candidate'].candidate_id as string;
  driver = await ConsoleDriver.start(app);
  driver.page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/^\/admin\/(?!events)/.test(pathname)) asked.push(`${request.method()} ${pathname}`);
  });
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

/** Opens a page of the console, and waits until the event stream of the page has begun. */
async function open(path: string): Promise<void> {
  await Promise.all([driver.page.waitForResponse(/\/admin\/events$/), driver.goTo(path)]);
}

/** Returns the requests that the page sends from the start of `perform` until shortly after `content` is visible. */
async function askedFor(perform: () => Promise<void>, content: string): Promise<string[]> {
  // Waits until the requests of the previous page and of its event stream have been answered.
  await driver.page.waitForTimeout(2500);
  asked.length = 0;
  await perform();
  await driver.page.locator(content).first().waitFor();
  await driver.page.waitForTimeout(1500);
  return asked.splice(0).sort();
}

const link = (name: string) => driver.page.locator('main').getByRole('link', { name }).first();

describe('the requests of a page', () => {
  it('opening the error queue, one of its causes, more rows and a notification sends no request twice', async () => {
    await open('');
    await driver.page.locator('.tile').first().waitFor();
    const area = driver.page.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name: 'Error queue' });
    expect(await askedFor(() => area.click(), 'main tbody tr')).toEqual([
      'GET /admin/accounts',
      'GET /admin/error-queue/summary',
      'GET /admin/jobs',
    ]);
    expect(await askedFor(() => link('Refused').click(), 'main tbody tr:nth-child(50)')).toEqual([
      'GET /admin/error-queue',
      'GET /admin/subscriptions',
    ]);
    expect(await askedFor(() => driver.button('Show more').click(), 'main tbody tr:nth-child(60)')).toEqual([
      'GET /admin/error-queue',
    ]);
    const id = (await subscribed.queue()).at(-1)!['id'] as string;
    expect(await askedFor(() => link('M000000060').click(), '.timeline li')).toEqual([
      'GET /admin/notifications',
      `GET /admin/notifications/${id}`,
      `GET /admin/subscriptions/${subscribed.id}`,
    ]);
  });

  it('the dialog to resend notifications of one cause loads their count and the first few without sending any request twice', async () => {
    await open('/queue');
    await driver.page.locator('main tbody tr').first().waitFor();
    const dialog = () => driver.button(/^Resend … Refused/).click();
    expect(await askedFor(dialog, '[role="dialog"] .preview')).toEqual([
      'GET /admin/error-queue',
      'GET /admin/subscriptions',
      'POST /admin/error-queue/resend',
    ]);
  });

  it('the partner page loads without sending any request twice', async () => {
    await open('/partners');
    await link(subscribed.partner.url).waitFor();
    const partner = `GET /admin/subscriptions/${subscribed.id}`;
    expect(await askedFor(() => link(subscribed.partner.url).click(), '.chart-drawing')).toEqual([
      partner,
      `${partner}/statistics`,
    ]);
  });

  it('the candidate page loads without sending any request twice', async () => {
    await driver.goTo(`/candidates?q=${candidate}`);
    const row = driver.page.locator('main tbody td.main a');
    await row.waitFor();
    const path = `GET /admin/accounts/${subscribed.scene.account}/candidates/${candidate}`;
    expect(await askedFor(() => row.click(), '.record .actions .button')).toEqual([
      path,
      `${path}/bookings`,
      `${path}/changes`,
      `${path}/results`,
      'GET /admin/notifications',
    ]);
    await eventually(async () => expect(await driver.page.getByText('Loading …').count()).toBe(0));
  });
});
