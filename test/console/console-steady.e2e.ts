import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
let accommodation: string;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  accommodation = await app.given.accommodation(subscribed.scene.account, true);
  for (const name of ['Oldest', 'Middle', 'Newest']) await waiting(name);
  driver = await ConsoleDriver.start(app, '/work/approvals');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const ids = new Map<string, string>();

/** Creates an eligibility record that waits for the approval of its accommodations. */
async function waiting(lastName: string): Promise<void> {
  const candidate = { last_name: lastName, special_accommodations: [accommodation] };
  const record = await app.given.eligibility(subscribed.scene, { candidate });
  ids.set(lastName, record['svc_eligiblity_id'] as string);
}

/** Approves the accommodations of a record as another operator. */
const approved = (lastName: string) =>
  subscribed.admin('POST', `eligibilities/${ids.get(lastName)}/approve-accommodations`);

const row = (text: string) => driver.page.getByRole('row').filter({ hasText: text });
const names = async () =>
  (await driver.page.locator('main tbody tr').allTextContents()).map(
    (text) => /Oldest|Middle|Newest|Later|Last/.exec(text)?.[0],
  );
const held = (text: string) => driver.button(`${text}: show`);
const place = (text: string) => row(text).boundingBox();
/** Moves the pointer to an empty area of the page, and removes the focus from the list. */
const rest = () => driver.page.mouse.move(2, 2);

/** Creates bookings whose events the partner refuses with the given status. */
async function refusedWith(status: number, count: number): Promise<void> {
  const before = (await subscribed.queue()).length;
  subscribed.partner.answer({ status });
  for (let made = 0; made < count; made++) await subscribed.booking();
  await eventually(async () => (await subscribed.queue()).length === before + count);
}

describe('a list with live updates', () => {
  beforeEach(async () => {
    await driver.goTo('/work/approvals');
    await rest();
    await row('Middle').waitFor();
  });

  it('a list holds back new rows and keeps removed rows while the pointer is on it, and shows the number of held-back updates', async () => {
    await row('Middle')
      .getByRole('button', { name: /^Approve/ })
      .hover();
    const before = await place('Middle');
    await waiting('Later');
    await held('1 new').waitFor();
    await approved('Newest');
    await held('1 new, 1 removed').waitFor();
    expect(await place('Middle')).toEqual(before);
    expect(await names()).toEqual(['Newest', 'Middle', 'Oldest']);
    await driver.expectNoComplaints();
    await held('1 new, 1 removed').click();
    expect(await names()).toEqual(['Later', 'Middle', 'Oldest']);
  });

  it('a list applies the held-back updates when the pointer leaves it', async () => {
    await row('Middle').hover();
    await waiting('Last');
    await held('1 new').waitFor();
    await rest();
    await eventually(async () => expect(await names()).toEqual(['Last', 'Later', 'Middle', 'Oldest']));
    expect(await held('1 new').count()).toBe(0);
  });

  it('a list holds updates back while it has the keyboard focus, and keeps the focus when it applies the updates', async () => {
    await row('Middle')
      .getByRole('button', { name: /^Approve/ })
      .focus();
    await driver.page.keyboard.press('Tab');
    await driver.page.keyboard.press('Shift+Tab');
    const before = await place('Middle');
    await approved('Last');
    await held('1 removed').waitFor();
    expect(await place('Middle')).toEqual(before);
    await held('1 removed').focus();
    await driver.page.keyboard.press('Enter');
    await eventually(async () => expect(await names()).toEqual(['Later', 'Middle', 'Oldest']));
    expect(await driver.page.evaluate(`document.activeElement.querySelector('table') !== null`)).toBe(true);
  });

  it("a list shows the operator's own changes immediately, wherever the pointer is", async () => {
    await row('Later')
      .getByRole('button', { name: /^Approve/ })
      .click();
    await driver.inDialog('Approve').click();
    await row('Middle').hover();
    await row('Later').waitFor({ state: 'detached' });
    expect(await names()).toEqual(['Middle', 'Oldest']);
  });
});

it('the error queue holds back a new cause while the pointer is on a row, and still updates the counts', async () => {
  await refusedWith(400, 2);
  await driver.goTo('/queue');
  await rest();
  const refused = row('Refused');
  await refused.waitFor();
  await refused.getByRole('button', { name: /^Resend/ }).hover();
  const before = await refused.boundingBox();
  await refusedWith(401, 4);
  await refusedWith(400, 1);
  await held('1 new').waitFor();
  await refused.getByRole('cell', { name: '3', exact: true }).waitFor();
  expect(await refused.boundingBox()).toEqual(before);
  expect(await row('Not authorized').count()).toBe(0);
  await rest();
  await row('Not authorized').waitFor();
});
