import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { importsOf } from '../support/imports';
import { BulkJobs } from '../support/queued';
import { Subscribed } from '../support/subscribed';

/**
 * A name in a script that is written from right to left. If the name were not isolated, the browser would reorder the
 * text before and after it.
 */
const NAME = 'סמי שלום';
const TIME = /^\d{1,2} \w{3,4} \d{4}, \d\d:\d\d(:\d\d)? (GMT-[45]|UTC|in Chicago)$/;
/** A text that contains a date or the name of a state in the format of the API. */
const RAW = String.raw`\d{4}-\d\d-\d\d|\b(PENDING|ELIGIBLE|SCHEDULED|COMPLETED|CANCELLED|EXPIRED|ABSENT|DELIVERED|ERROR_QUEUE|RECEIVING|RUNNING|PAUSED|DONE|ABORTED|FAILED)\b`;

/** The texts of a page and their appearance in the browser. */
interface Sight {
  /** The places at which the name appears. For each place: whether the name is isolated there, and the HTML. */
  names: [isIsolated: boolean, html: string][];
  /** The absolute times, in texts and in tooltips. */
  times: string[];
  raw: string[];
  badges: [text: string, hasIcon: boolean][];
  /** The fonts in which codes are shown. */
  faces: string[];
  weights: string[];
  /** The times and codes that break across lines, on a wide screen and at 360 px. */
  broken: string[];
  /** Whether the page is wider than the window, on a wide screen or at 360 px. */
  isTooWide: boolean;
}

const SIGHT = `(() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode())
    if (text.parentElement.closest('pre, script, style') === null) texts.push(text);
  const elements = (selector) => [...document.querySelectorAll(selector)];
  const raw = new RegExp(${JSON.stringify(RAW)});
  return {
    names: texts
      .filter(({ data, parentElement }) => data.includes('שלום') && parentElement.closest('option') === null)
      .map(({ parentElement }) => [parentElement.closest('bdi') !== null, parentElement.outerHTML]),
    times: elements('main time').flatMap((time) => [...time.textContent.split('·'), ...time.title.split('·')])
      .map((text) => text.trim()).filter((text) => /\\d{4}/.test(text)),
    raw: texts.filter(({ parentElement }) => parentElement.closest('code') === null).map(({ data }) => data)
      .concat(elements('[aria-label]').map((element) => element.getAttribute('aria-label'))).filter((text) => raw.test(text)),
    badges: elements('.badge').map((badge) => [badge.textContent, badge.querySelector('svg > path') !== null]),
    faces: [...new Set(elements('main code').map((code) => getComputedStyle(code).fontFamily.split(',')[0]))],
    weights: [...new Set(elements('body *').map((element) => getComputedStyle(element).fontWeight))],
  };
})()`;
const BROKEN = `[...document.querySelectorAll('main time, main code:not(.long, pre code)')]
  .filter((element) => new Set([...element.getClientRects()].map(({ top }) => Math.round(top))).size > 1)
  .map(({ outerHTML }) => innerWidth + ' ' + outerHTML)`;
const OVER = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const ROW = 'main tbody tr';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;
let candidate: string;
/** The texts of each page, with the path of the page. */
const sights: [path: string, Sight][] = [];

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app, { name: NAME });
  const { id, scene } = subscribed;
  await subscribed.admin('PUT', `accounts/${scene.account}`, { name: NAME });
  subscribed.partner.answer({ status: 400 });
  const named = { first_name: NAME, last_name: NAME, address1: NAME };
  const record = await app.given.eligibility(scene, { candidate: named });
  candidate = record['candidate'].candidate_id as string;
  await app.given.booking(scene, record);
  const code = await app.given.accommodation(scene.account, true);
  await app.given.sql('UPDATE accommodations SET name = $2 WHERE accommodation_code = $1', [code, NAME]);
  await app.given.eligibility(scene, { candidate: { ...named, special_accommodations: [code] } });
  const held = await app.given.eligibility(scene, { candidate: named });
  await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/hold`, { reason: 'Identity' });
  await new Deliveries(app).register(
    scene.token,
    registrationBody({
      examMetaData: { examCode: 'NONE' },
      examTakerLastName: NAME,
      examTakerEmail: 'ada@example.org',
    }),
  );
  const { import_id } = await importsOf(app, () => scene).imported(
    `candidate_id,first_name,last_name,test_code\nGOOD,Ada,L,${scene.testCode}\nBAD,Ada,L,NO-SUCH-TEST\n`,
  );
  const queue = () =>
    eventually(async () => {
      const found = await subscribed.queue();
      expect(found).toHaveLength(1);
      return found;
    });
  await queue();
  const jobs = new BulkJobs(app, subscribed.operator);
  const job = await jobs.start('error-queue/resend', { filter: { subscription_id: id } });
  await jobs.having(job, { failed: 1 });
  const [queued] = await queue();
  const [unmatched] = (await subscribed.get('/admin/unmatched-results')).body as Record<string, string>[];

  driver = await ConsoleDriver.start(app, '', { timezoneId: 'America/New_York' });
  for (const [path, ready, press] of [
    ['', '.troubles li'],
    ['/queue', ROW],
    ['/queue/notifications', ROW],
    [`/queue/notifications?subscription_id=${id}`, '.preview li', 'Resend …'],
    ['/notifications', ROW],
    [`/notifications/${queued['id'] as string}`, '.attempts li'],
    ['/jobs', ROW],
    [`/jobs/${job}`, ROW],
    ['/partners', ROW],
    [`/partners/${id}`, '.chart-drawing'],
    [`/partners/${id}`, '[role="alertdialog"] p', 'Delete …'],
    [`/partners/${id}/settings`, 'main .field'],
    [`/candidates?q=${candidate}`, ROW],
    [`/candidates/${scene.account}/${candidate}`, '.story > li'],
    ['/work/approvals', ROW],
    ['/work/holds', ROW],
    ['/work/unmatched', ROW],
    [`/work/unmatched/${unmatched['id']}`, '.likely .place:has-text("Springfield")'],
    ['/work/imports', ROW],
    [`/work/imports/${scene.account}/${import_id as string}`, ROW],
    ['/setup', ROW],
    ['/setup/users', ROW],
    ['/setup/applications', ROW],
    [`/setup/accounts/${scene.account}/accommodations`, ROW],
    ['/audit', ROW],
  ])
    await see(driver, path, ready, press);
  const staff = await driver.another('', { scopes: ['support'] });
  const { username, account } = staff.operator;
  await subscribed.admin('PUT', `users/${username}`, { account_codes: [account, scene.account] });
  await see(staff, '/work/holds', ROW);
  const login = { username: app.given.unique('board-'), password: app.given.unique('a long password ') };
  await subscribed.admin('POST', 'users', { ...login, scopes: ['partner'], subscription_ids: [id] });
  const partner = await driver.visitor('', { ...driver.operator, ...login });
  await see(partner, `/own/${id}`, '.chart-drawing');
  await see(partner, '/own/notifications', ROW);
  await see(partner, `/own/notifications/${queued['id'] as string}`, '.attempts li');
}, 240_000);
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

/** Opens a page, presses a button if one is given, waits until the content has been loaded, and stores its texts. */
async function see(user: ConsoleDriver, path: string, ready: string, press?: string): Promise<void> {
  const { page } = user;
  await page.setViewportSize({ width: 1280, height: 900 });
  await user.goTo(path);
  if (press !== undefined) await user.button(press).click();
  await page.locator(ready).first().waitFor();
  for (const note of await page.getByText(/^Loading …$/).all()) await note.waitFor({ state: 'hidden' });
  const sight = { ...(await page.evaluate<Sight>(SIGHT)), broken: [] as string[], isTooWide: false };
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    sight.broken.push(...(await page.evaluate<string[]>(BROKEN)));
    // A chart adopts a new width only after the page has measured the chart, so the check is repeated.
    const fits = eventually(async () => (await page.evaluate<number>(OVER)) === 0, 10_000);
    sight.isTooWide ||= !(await fits.catch(() => false));
  }
  sights.push([path, sight]);
}

/** Returns the findings about each page, with the path of the page. Pages without findings are left out. */
function findings<T>(of: (sight: Sight) => readonly T[]): (readonly [path: string, readonly T[]])[] {
  return sights.map(([path, sight]) => [path, [...of(sight)]] as const).filter(([, found]) => found.length > 0);
}

describe('texts in the console', () => {
  it('each name on a page is isolated, so that a right-to-left name does not reorder the text around it', () => {
    expect(findings(({ names }) => names.filter(([isIsolated]) => !isIsolated))).toEqual([]);
    expect(findings(({ names }) => names).length).toBeGreaterThan(20);
  });

  it('no time or code breaks across lines, and no page is too wide, on wide screens and at 360 px', () => {
    expect(findings(({ broken }) => broken)).toEqual([]);
    expect(findings(({ isTooWide }) => (isTooWide ? [true] : []))).toEqual([]);
  });

  it('codes are monospaced, and each page has only three font weights', () => {
    expect(findings(({ faces }) => faces.filter((face) => face !== '"Geist Mono Variable"'))).toEqual([]);
    expect(findings(({ weights }) => weights.filter((weight) => !['400', '500', '600'].includes(weight)))).toEqual([]);
  });

  it('all pages show times in one format, with the time zone', () => {
    expect(findings(({ times }) => times.filter((time) => !TIME.test(time)))).toEqual([]);
    expect(findings(({ times }) => times).length).toBeGreaterThan(20);
  });

  it('all pages show the start of an exam in the time zone of its test centre', () => {
    const pages = findings(({ times }) => times.filter((time) => time.endsWith('in Chicago'))).map(([path]) => path);
    const kinds = pages.map((path) => path.replace(/\?.*/, '').replaceAll(/\/(?=[^/]*[\dA-Z])[\w-]{8,}/g, '/…'));
    expect([...new Set(kinds)]).toEqual([
      '/queue',
      '/queue/notifications',
      '/notifications',
      '/notifications/…',
      '/jobs/…',
      '/candidates/…/…',
      '/work/unmatched/…',
      '/own/notifications',
      '/own/notifications/…',
    ]);
  });

  it('states are shown in words with an icon, and no page shows a state or a date in the format of the API', () => {
    expect(findings(({ raw }) => raw)).toEqual([]);
    expect(findings(({ badges }) => badges.filter(([, hasIcon]) => !hasIcon))).toEqual([]);
    expect(findings(({ badges }) => badges).length).toBeGreaterThan(12);
  });

  it('the list of notifications shows booking codes and candidate ids in code elements', async () => {
    await driver.goTo('/notifications');
    const codes = driver.page.locator('main tbody code');
    await codes.first().waitFor();
    const [queued] = await subscribed.queue();
    const shown = await codes.allTextContents();
    expect(shown).toEqual(expect.arrayContaining([queued['booking_code'], candidate]));
  });
});
