import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

const DAY_MS = 86_400_000;
const ABSOLUTE = /^\d{1,2} \w{3,4} \d{4}, \d\d:\d\d GMT-[45]/;

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  driver = await ConsoleDriver.start(app, '', { timezoneId: 'America/New_York' });
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const record = (candidate: object) => app.given.eligibility(subscribed.scene, { candidate });
const open = (candidateId: string) => driver.goTo(`/candidates/${subscribed.scene.account}/${candidateId}`);
const dayIn = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

describe('times in the console', () => {
  it('the console shows every absolute time in one format that includes the time zone', async () => {
    await record({ candidate_id: 'TIMES' });
    await open('TIMES');
    await driver.page.getByRole('region', { name: 'Timeline' }).locator('.story > li').first().waitFor();
    const texts = await driver.page.locator('main time.time').allTextContents();
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.filter((text) => !ABSOLUTE.test(text))).toEqual([]);
  });

  it('the console shows seconds only in the times of delivery attempts', async () => {
    const [notification] = await eventually(async () => {
      await subscribed.booking();
      const found = await subscribed.notifications('&state=DELIVERED');
      if (found.length === 0) throw new Error('No notification is delivered yet.');
      return found;
    });
    await driver.goTo(`/notifications/${notification['id']}`);
    const attempt = driver.page.locator('.attempts time').first();
    await attempt.waitFor();
    expect(await attempt.textContent()).toMatch(/^\d{1,2} \w{3,4} \d{4}, \d\d:\d\d:\d\d GMT-[45]/);
    const created = driver.page.locator('.facts > div', { hasText: 'Created' }).locator('time');
    expect(await created.textContent()).toMatch(ABSOLUTE);
  });

  it('the fields for a period name the time zone, and a click on a preset period sets it and marks it as chosen', async () => {
    await driver.goTo('/notifications');
    await driver.button('Filter').click();
    await driver.page.getByLabel('Created before (New York time)').waitFor();
    for (const [name, days] of [
      ['Last 24 h', 1],
      ['Last 30 days', 30],
      ['Last 7 days', 7],
    ] as const) {
      await driver.button(name).click();
      await driver.page.getByRole('button', { name, exact: true, pressed: true }).waitFor();
      expect(await driver.page.getByRole('button', { name: /^Last/, pressed: true }).count()).toBe(1);
      const from = new URL(driver.page.url()).searchParams.get('from')!;
      expect(Math.abs(Date.now() - days * DAY_MS - Date.parse(from))).toBeLessThan(DAY_MS / 2);
    }
    expect(await driver.page.getByLabel('Created from (New York time)').inputValue()).toMatch(/^[\d-]{10}T\d\d:\d\d$/);
    await driver.page.getByRole('row').nth(1).waitFor();
    await driver.expectGoodPage('notifications-presets');
  });

  it('the fields for the validity of a voucher name the time zone', async () => {
    await driver.goTo(`/setup/accounts/${subscribed.scene.account}/vouchers`);
    await driver.button('New voucher …').click();
    await driver.dialog().getByLabel('Valid from (New York time)').waitFor();
    await driver.dialog().getByLabel('Valid until (New York time)').waitFor();
  });

  it('an operator can book and move an exam in the time zone of its test centre, whose address is shown', async () => {
    await record({ candidate_id: 'TOKYO' });
    await open('TOKYO');
    await driver.button('Book …').click();
    const dialog = driver.dialog();
    await dialog.getByLabel('Start (New York time)').waitFor();
    await dialog.getByLabel('Location code').fill('T1');
    await dialog
      .getByLabel('Location', { exact: true })
      .or(dialog.getByLabel(/^Location \*?$/))
      .first()
      .fill('Shibuya Center');
    await dialog.getByLabel('Address').fill('1 Dogenzaka');
    await dialog.getByLabel('Time zone').fill('tokyo');
    await driver.page.keyboard.press('Enter');
    await dialog.getByLabel('Start (Tokyo time)').fill(`${dayIn(10)}T09:00`);
    await dialog.getByText(/09:00 in Tokyo, Shibuya Center, 1 Dogenzaka\. Your time: /).waitFor();
    await driver.expectGoodPage('booking-zone');
    await driver.inDialog('Book').click();
    await driver.told('The booking was created.');
    const bookings = () => app.given.sql(`SELECT booking_on FROM bookings WHERE candidate_id = 'TOKYO'`);
    expect(await bookings()).toEqual([{ booking_on: new Date(`${dayIn(10)}T00:00:00Z`) }]);
    const exam = driver.page.locator('.record .facts > div', { hasText: 'Exam' });
    await exam.getByText(/09:00 in Tokyo/).waitFor();
    await exam.getByText('Shibuya Center, 1 Dogenzaka').waitFor();
    await driver.button('Move the booking …').click();
    const start = dialog.getByLabel('Start (Tokyo time)');
    expect(await start.inputValue()).toBe(`${dayIn(10)}T09:00`);
    await start.fill(`${dayIn(11)}T10:30`);
    await driver.inDialog('Move').click();
    await driver.told('The booking was moved.');
    expect(await bookings()).toEqual([{ booking_on: new Date(`${dayIn(11)}T01:30:00Z`) }]);
  });

  it("the console shows no negative age when the browser's clock is minutes behind", async () => {
    await driver.page.addInitScript('{ const real = Date.now; Date.now = () => real() - 300000; }');
    await driver.goTo('/notifications');
    const created = driver.page.locator('td[data-label="Created"] time').first();
    await created.waitFor();
    expect(await driver.page.locator('td[data-label="Created"]').allTextContents()).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^in /)]),
    );
  });
});
