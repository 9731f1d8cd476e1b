import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

/**
 * A name that is written from right to left. If its direction were not isolated, the text before and after the name
 * would be reordered.
 */
const NAME = 'סמי שלום';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
let candidate: string;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app, { name: NAME });
  await subscribed.admin('PUT', `accounts/${subscribed.scene.account}`, { name: NAME });
  subscribed.partner.answer({ status: 400 });
  const record = await app.given.eligibility(subscribed.scene, { candidate: { first_name: NAME, last_name: NAME } });
  candidate = record['candidate'].candidate_id as string;
  await app.given.booking(subscribed.scene, record);
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  driver = await ConsoleDriver.start(app, '', { timezoneId: 'America/New_York' });
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

/** Opens each page with names, codes and times, and waits until it has been loaded. */
async function eachPage(check: (path: string) => Promise<void>): Promise<void> {
  const { account } = subscribed.scene;
  const [queued] = await subscribed.queue();
  for (const [path, ready] of [
    ['', '.troubles li'],
    ['/queue', 'main tbody tr'],
    ['/queue/notifications', 'main tbody tr'],
    [`/notifications/${queued['id'] as string}`, '.attempts li'],
    ['/partners', 'main tbody tr'],
    [`/partners/${subscribed.id}`, '.chart-drawing'],
    [`/candidates?q=${candidate}`, 'main tbody tr'],
    [`/candidates/${account}/${candidate}`, '.story > li'],
    ['/setup', 'main tbody tr'],
    ['/audit', 'main tbody tr'],
  ]) {
    await driver.goTo(path);
    await driver.page.locator(ready).first().waitFor();
    for (const note of await driver.page.getByText(/^Loading …$/).all()) await note.waitFor({ state: 'hidden' });
    await check(path);
  }
}

describe('texts in the console', () => {
  it('each name on a page is isolated, so that a right-to-left name does not reorder the text around it', async () => {
    let found = 0;
    await eachPage(async (path) => {
      const places = await driver.page.evaluate<[boolean, string][]>(`(() => {
        const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
        const places = [];
        for (let text = walker.nextNode(); text; text = walker.nextNode())
          if (text.data.includes('שלום') && text.parentElement.closest('pre, option') === null)
            places.push([text.parentElement.closest('bdi') !== null, text.parentElement.outerHTML]);
        return places;
      })()`);
      found += places.length;
      expect([path, places.filter(([isIsolated]) => !isIsolated)]).toEqual([path, []]);
    });
    expect(found).toBeGreaterThan(10);
  }, 120_000);

  it('no time or code breaks across lines, and codes are monospaced, on wide screens and at 360 px', async () => {
    await eachPage(async (path) => {
      for (const width of [1280, 360]) {
        await driver.page.setViewportSize({ width, height: 900 });
        const broken = await driver.page.evaluate<string[]>(`
          [...document.querySelectorAll('main time, main code:not(.long, pre code)')]
            .filter((element) => new Set([...element.getClientRects()].map(({ top }) => Math.round(top))).size > 1)
            .map(({ outerHTML }) => outerHTML)`);
        expect([path, width, broken]).toEqual([path, width, []]);
        const faces = await driver.page.evaluate<string[]>(
          `[...new Set([...document.querySelectorAll('main code')].map((code) => getComputedStyle(code).fontFamily.split(',')[0]))]`,
        );
        expect([path, faces.filter((face) => face !== '"Geist Mono Variable"')]).toEqual([path, []]);
        const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
        // A chart adopts a new width only after the page has measured it, so the check is repeated.
        await eventually(async () => expect([path, width, await driver.page.evaluate(over)]).toEqual([path, width, 0]));
      }
      await driver.page.setViewportSize({ width: 1280, height: 900 });
    });
  }, 120_000);

  it('the list of notifications shows booking codes and candidate ids in code elements', async () => {
    await driver.goTo('/notifications');
    const codes = driver.page.locator('main tbody code');
    await codes.first().waitFor();
    const [queued] = await subscribed.queue();
    const shown = await codes.allTextContents();
    expect(shown).toEqual(expect.arrayContaining([queued['booking_code'], candidate]));
  });
});
