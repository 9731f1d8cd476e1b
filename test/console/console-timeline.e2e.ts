import type { Locator } from 'playwright-core';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
let record: Record<string, any>;
let booking: string;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  record = await app.given.eligibility(subscribed.scene);
  booking = (await app.given.booking(subscribed.scene, record))['booking_code'] as string;
  await subscribed.booking();
  await subscribed.reschedule(booking);
  await eventually(async () => (await of(booking)).filter(({ state }) => state === 'DELIVERED').length === 2);
  subscribed.partner.answer({ status: 400 });
  await subscribed.reschedule(booking);
  await eventually(async () => (await subscribed.queue()).length === 1);
  await subscribed.cancel(booking);
  await eventually(async () => (await of(booking)).length === 4);
  // Reverses the creation times, because the timeline must follow the order of events regardless of these times.
  await app.given.sql(`UPDATE notifications SET created_datetime = now() - event_sequence * interval '1 hour'`);
  driver = await ConsoleDriver.start(app, '/notifications');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const of = (code: string) => subscribed.notifications(`&booking_code=${code}`);
const events = () => driver.page.locator('.timeline > li');
const texts = (selector: string) => events().locator(selector).allTextContents();
const EVENTS = ['Booking created', 'Booking rescheduled', 'Booking rescheduled', 'Booking cancelled'];

describe('the timeline of a booking', () => {
  it('the timeline of a booking shows only events of this booking, in order and with outcomes, and marks the current event', async () => {
    const [, second] = (await of(booking)).sort((one, other) => one['event_sequence'] - other['event_sequence']);
    await driver.goTo(`/notifications/${second['id']}`);
    await events().first().waitFor();
    expect(await texts('.sequence')).toEqual(['1', '2', '3', '4']);
    expect(await texts('strong, a')).toEqual(EVENTS);
    const states = await texts('.badge');
    expect(states.slice(0, 3)).toEqual(['Delivered', 'Delivered', 'Error queue']);
    const current = await events().evaluateAll((found) => found.map((event) => event.getAttribute('aria-current')));
    expect(current).toEqual([null, 'true', null, null]);
  });

  it('the timeline and the lists show the old and the new time of a moved exam', async () => {
    const [made, first, second] = (await of(booking)).sort(
      (one, other) => one['event_sequence'] - other['event_sequence'],
    );
    const starts = (locator: Locator) =>
      locator.locator('time').evaluateAll((times) => times.map((time) => time.dateTime));
    expect((await starts(events().nth(1))).slice(0, 2)).toEqual([made['booking_on'], first['booking_on']]);
    expect((await starts(events().nth(2))).slice(0, 2)).toEqual([first['booking_on'], second['booking_on']]);
    await events()
      .nth(1)
      .getByText(/^from \d+ \w+ \d{4}, \d\d:\d\d in Chicago to /)
      .waitFor();
  });

  it('the timeline of a candidate shows the old and the new time of a moved exam', async () => {
    const [made, first, second] = (await of(booking)).sort(
      (one, other) => one['event_sequence'] - other['event_sequence'],
    );
    await driver.goTo(`/candidates/${subscribed.scene.account}/${record['candidate'].candidate_id}`);
    const entries = driver.page.locator('.story > li', { hasText: 'Exam moved' });
    await entries.first().waitFor();
    for (const [index, after, before] of [
      [0, second, first],
      [1, first, made],
    ] as const) {
      const appointment = entries.nth(index).locator('> p.hint');
      await appointment.getByText(/^Exam on .*, moved from \d+ /).waitFor();
      const times = await appointment.locator('time').evaluateAll((found) => found.map((time) => time.dateTime));
      expect(times).toEqual([after['booking_on'], before['booking_on']]);
    }
  });

  it("the notification lists and the notification page show the candidate's name beside the id", async () => {
    const { candidate_id: id, first_name: first, last_name: last } = record['candidate'] as Record<string, string>;
    await driver.goTo(`/notifications?booking_code=${booking}`);
    const cell = driver.page.getByRole('row').filter({ hasText: 'no. 1' }).locator('td[data-label="Candidate"]');
    await cell.getByText(id, { exact: true }).waitFor();
    await cell.getByText(`${first} ${last}`, { exact: true }).waitFor();
    const [notification] = await of(booking);
    await driver.goTo(`/notifications/${notification['id'] as string}`);
    const fact = driver.page.locator('.facts > div', { hasText: 'Candidate' });
    await fact.getByText(`${first} ${last}`, { exact: true }).waitFor();
  });

  it('the timeline of a booking links each event to its notification', async () => {
    await events().nth(3).getByRole('link').click();
    await driver.title(`Booking cancelled ${booking}`);
    await eventually(async () => expect(await events().nth(3).getAttribute('aria-current')).toBe('true'));
    expect(await texts('.sequence')).toEqual(['1', '2', '3', '4']);
  });

  it("the candidate page shows the events and notifications of the candidate's bookings, newest first", async () => {
    await driver.goTo(`/candidates/${subscribed.scene.account}/${record['candidate'].candidate_id}`);
    const entries = driver.page.getByRole('region', { name: 'Timeline' }).locator('.story > li');
    await entries.first().waitFor();
    const times = await entries
      .locator('> .line > time')
      .evaluateAll((found) => found.map((time) => (time as unknown as { dateTime: string }).dateTime));
    expect(times).toEqual([...times].sort().reverse());
    expect(await entries.locator('> .line > strong').allTextContents()).toEqual([
      'Booking cancelled',
      'Exam moved',
      'Exam moved',
      'Exam booked',
      'Record created',
    ]);
    // Each change in the timeline shows its notifications, with links to their pages.
    const told = entries.nth(2).locator('.story-told');
    expect(await told.locator('.badge').allTextContents()).toEqual(['Delivered']);
    expect(await entries.nth(1).locator('.story-told .badge').allTextContents()).toEqual(['Error queue']);
    expect(await entries.nth(4).locator('.story-told').count()).toBe(0);
    await told.getByRole('link').click();
    await driver.title(`Booking rescheduled ${booking}`);
  });

  /**
   * Opens the search with Ctrl+K and enters the text. A page ignores Ctrl+K until it is loaded, so the function repeats
   * the key press.
   */
  async function fillSearch(text: string): Promise<void> {
    const field = driver.page.getByRole('combobox', { name: /^Search for a page/ });
    await eventually(async () => {
      if (!(await field.isVisible())) await driver.page.keyboard.press('Control+k');
      await field.fill(text, { timeout: 1_000 });
    });
  }

  it('the search that Ctrl+K opens finds candidates and partners', async () => {
    const { candidate_id: id, last_name: last, first_name: first } = record['candidate'] as Record<string, string>;
    const search = async (text: string, option: RegExp) => {
      await fillSearch(text);
      await driver.page.getByRole('option', { name: option }).click();
    };
    await subscribed.patch({ name: 'The board' });
    await driver.goTo('');
    await search(`${last}, ${first}`, new RegExp(`^${first} ${last} · ${id} · ${record['test_code']} · `));
    await driver.title(`${first} ${last}`);
    await search('board', /^Partner The board$/);
    await driver.title('The board');
  });

  it("an operator sees in two clicks whether the partner knows that a candidate's exam was moved", async () => {
    await subscribed.patch({ name: 'The board' });
    await driver.goTo('');
    driver.clicks.length = 0;
    await fillSearch(record['candidate'].candidate_id as string);
    await driver.page.getByRole('option', { name: /^Notifications of candidate/ }).click();
    const row = driver.page.getByRole('row').filter({ hasText: 'no. 2' });
    await row.getByText('DELIVERED').waitFor();
    await row.getByText('Booking rescheduled').waitFor();
    await row.getByText(/^moved from \d+ /).waitFor();
    await row.getByRole('link', { name: 'The board' }).waitFor();
    await driver.page.getByRole('combobox', { name: 'Partner' }).fill('The board');
    await driver.page.keyboard.press('Enter');
    await driver.page.waitForURL(/subscription_id=/);
    await driver.title('Notifications');
    expect(new URL(driver.page.url()).searchParams.get('subscription_id')).toBe(subscribed.id);
    expect(driver.clicks.length).toBeLessThanOrEqual(2);
    await driver.expectGoodPage('notifications-named');
  });
});
