import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

const DAY = /^\d{1,2} \w{3,4}$/;
const TIME = /^\d\d:\d\d$/;

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app, { name: 'The registry' });
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(1));
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  // Moves both attempts into the same hour of the charts, even if the test runs at the end of an hour.
  await app.given.sql(`UPDATE notification_attempts SET at = date_trunc('hour', now()) - interval '3 hours 5 minutes'`);
  driver = await ConsoleDriver.start(app, '', { timezoneId: 'America/New_York' });
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const chart = () => driver.page.locator('.chart').first();
const boxOf = async (selector: string) => (await driver.page.locator(selector).first().boundingBox())!;

async function openPartner(): Promise<void> {
  await driver.goTo(`/partners/${subscribed.id}`);
  await chart().locator('.chart-bar').first().waitFor();
}

describe('the charts of the console', () => {
  it('a chart stacks failed attempts on top of delivered attempts, and hatches failed attempts in the bars and in the legend', async () => {
    await openPartner();
    const [failed, delivered] = [await boxOf('.chart-bar.bad'), await boxOf('.chart-bar.good')];
    expect(Math.abs(failed.x - delivered.x)).toBeLessThan(1);
    expect(failed.height).toBeCloseTo(delivered.height, 0);
    expect(failed.y + failed.height).toBeCloseTo(delivered.y, 0);
    const fillOf = (selector: string, property: string) =>
      driver.page.evaluate<string>(
        `getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`,
      );
    expect(await fillOf('.chart-bar.bad', 'fill')).toMatch(/^url\(/);
    expect(await fillOf('.chart-bar.good', 'fill')).toMatch(/^(rgb|color|oklab)/);
    expect(await fillOf('.swatch.bad', 'background-image')).toContain('repeating-linear-gradient');
  });

  it('a chart shows days and times in the same format as the lists, and names their time zone', async () => {
    await openPartner();
    const days = await chart().locator('.chart-date').allTextContents();
    expect(days.length).toBeGreaterThan(3);
    expect(days.filter((text) => !DAY.test(text))).toEqual([]);
    const titles = await chart().locator('.chart-slot title').allTextContents();
    expect(titles).toHaveLength(7 * 24);
    expect(titles.filter((text) => !/^\d{1,2} \w{3,4} \d{4}, \d\d:\d\d GMT-[45]: Delivered/.test(text))).toEqual([]);
    expect(titles.filter((text) => text.endsWith(': Delivered 1, Failed 1'))).toHaveLength(1);
    expect(await chart().locator('.chart-legend > span').allTextContents()).toContain('New York time');
    await driver.goTo('');
    await chart().locator('.chart-bar').first().waitFor();
    const times = await chart().locator('.chart-date').allTextContents();
    expect(times.filter((text) => !DAY.test(text) && !TIME.test(text))).toEqual([]);
    expect(times.some((text) => TIME.test(text))).toBe(true);
    await driver.expectGoodPage('charts-home');
  });

  it('in the list of partners, a chart shows delivered attempts above the base line and failed attempts below the line', async () => {
    await driver.goTo('/partners');
    await driver.page.locator('.sparkline').waitFor();
    const line = await boxOf('.sparkline line');
    const boxes = await driver.page.locator('.sparkline rect').evaluateAll((bars) =>
      bars.flatMap((bar) => {
        const { top, bottom, height } = bar.getBoundingClientRect();
        return height > 0 ? [[bar.getAttribute('class'), top, bottom] as const] : [];
      }),
    );
    expect(boxes).toHaveLength(2);
    for (const [tone, top, bottom] of boxes)
      expect([tone, tone === 'bad' ? top >= line.y - 1 : bottom <= line.y + line.height + 1]).toEqual([tone, true]);
  });
});
