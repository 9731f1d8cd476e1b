import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const { MARKUP } = ConsoleDriver;
const SCRIPT = '"><script>window.hacked = true</script>';
const LINK = 'javascript:window.hacked=true';
const LONG = 'x'.repeat(4000);
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  await queueMany(subscribed, 2);
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

/**
 * Checks that no text in the page's address became an HTML element, and that every link has the same protocol as the
 * page.
 */
async function expectHarmless(path: string): Promise<void> {
  const { page } = driver;
  const found = await page.evaluate<object>(`({
    foreign: [...document.querySelectorAll('script, img, iframe, object, embed, base, form[action], style')]
      .filter(({ src }) => !(src?.startsWith(location.origin + '/console/') && src.includes('/console/assets/'))).map(({ outerHTML }) => outerHTML),
    links: [...document.links].filter(({ protocol }) => protocol !== location.protocol).map(({ href }) => href),
    handlers: [...document.querySelectorAll('*')].filter((element) => element.getAttributeNames().some((name) => name.startsWith('on'))).length,
  })`);
  expect([path, found]).toEqual([path, { foreign: [], links: [], handlers: 0 }]);
  // If the page contained an injected script, the browser would report a violation of the content security policy. The
  // page must cause no such report.
  await driver.expectNoComplaints();
}

const query = (name: string, value: string) => `?${new URLSearchParams({ [name]: value }).toString()}`;

describe('addresses from untrusted sources', () => {
  const lists = {
    '/queue': 'subscription_id',
    '/queue/notifications': 'booking_code',
    '/notifications': 'candidate_id',
    '/jobs': 'account_code',
    '/partners': 'account_code',
    '/candidates': 'q',
    '/work/approvals': 'account_code',
    '/work/imports': 'account_code',
    '/audit': 'subject',
  };
  it.each(Object.entries(lists))(
    'the console page %s shows the value of a filter from its address as plain text',
    async (path, name) => {
      for (const value of [MARKUP, SCRIPT, LINK, LONG, '\u0000', '__proto__', '%', "' OR 1=1 --"]) {
        await driver.goTo(`${path}${query(name, value)}`);
        await driver.page.locator('main').locator('.list-bar, .note.bad').first().waitFor();
        const filters = driver.page.getByRole('search', { name: 'Filters' });
        const shown = filters.getByRole('textbox').or(filters.getByRole('combobox'));
        const values = await Promise.all((await shown.all()).map((field) => field.inputValue()));
        // A filter may be hidden behind the "Filter" button. The page then shows the value of the filter as a chip.
        const chips = await filters.locator('.chip bdi').allTextContents();
        expect([path, [...values, ...chips].includes(value)]).toEqual([path, true]);
        await expectHarmless(path);
      }
      expect(driver.refusals().filter((refusal) => !/^4(00|03|04) GET /.test(refusal))).toEqual([]);
    },
  );

  it('a console page shows an error when its address contains an unknown filter value', async () => {
    for (const path of [
      `/queue/notifications${query('failure', SCRIPT)}`,
      `/queue/notifications${query('http_status', LINK)}`,
      `/notifications${query('state', MARKUP)}`,
      `/jobs${query('state', MARKUP)}`,
    ]) {
      await driver.goTo(path);
      await driver.page.getByRole('alert').first().waitFor();
      await expectHarmless(path);
    }
    expect(driver.refusals().every((refusal) => refusal.startsWith('400 GET '))).toBe(true);
  });

  it('a console page ignores filters in its address that are unknown, are repeated or contain brackets', async () => {
    for (const search of [
      '?__proto__[hacked]=1',
      '?constructor=1&toString=2',
      '?state=PENDING&state=DELIVERED',
      '?[]=&=&&',
      '#<img>',
    ]) {
      await driver.goTo(`/notifications${search}`);
      await driver.page.locator('.list-bar').waitFor();
      await expectHarmless(search);
      expect(await driver.page.evaluate('({}).hacked')).toBeUndefined();
    }
  });

  const named = ['/notifications/', '/jobs/', '/partners/', '/work/unmatched/', '/candidates/A/', '/setup/accounts/'];
  it.each(named)(
    'a console page under %s shows that the item does not exist when its address names an unknown id',
    async (path) => {
      for (const id of [UNKNOWN, MARKUP, SCRIPT, LINK, LONG.slice(0, 500), '..%2f..%2fadmin', '\u0000', "'"]) {
        const name = id.includes('%') ? id : encodeURIComponent(id);
        await driver.goTo(`${path}${name}`);
        const { page } = driver;
        await page
          .locator('main')
          .getByRole('alert')
          .or(page.getByText(/no longer in the list|no such page/))
          .first()
          .waitFor();
        await expectHarmless(path + name);
      }
      expect(driver.refusals().filter((refusal) => !/^4(00|03|04|14) GET /.test(refusal))).toEqual([]);
    },
  );

  it.each(['/notifications', '/queue/notifications', '/work/approvals', '/work/unmatched', '/work/imports'])(
    'when the address of the list %s names an unknown item to open, the list shows that the item does not exist',
    async (path) => {
      for (const id of [UNKNOWN, `A/${UNKNOWN}`, MARKUP, SCRIPT, '..%2f..%2fadmin', '\u0000', "'"]) {
        await driver.goTo(`${path}${query('open', id)}`);
        const item = driver.page.getByRole('complementary', { name: 'Item details' });
        await item
          .getByRole('alert')
          .or(item.getByText(/no longer in the list/))
          .first()
          .waitFor();
        await expectHarmless(path + id);
      }
      expect(driver.refusals().filter((refusal) => !/^4(00|03|04|14) GET /.test(refusal))).toEqual([]);
    },
  );

  it('the console serves the same page with the same content security policy at any address, whatever text the address contains', async () => {
    const plain = await fetch(`${app.url}/console/queue`);
    const html = await plain.text();
    for (const path of [`/queue${query('a', SCRIPT)}`, `/jobs?${encodeURIComponent(MARKUP)}`, `/queue#${MARKUP}`]) {
      const answer = await fetch(`${app.url}/console${path}`);
      expect([path, answer.headers.get('content-security-policy')]).toEqual([
        path,
        plain.headers.get('content-security-policy'),
      ]);
      expect(await answer.text()).toBe(html);
    }
    for (const path of ['/%ff', '/queue/%ff', '/%3Cscript%3E', '//evil.example/', '/queue/..%5c..%5c']) {
      const answer = await fetch(`${app.url}/console${path}`, { redirect: 'manual' });
      expect([path, answer.status < 500 && answer.status !== 302]).toEqual([path, true]);
      expect([path, answer.headers.get('location')]).toEqual([path, null]);
    }
  });

  it('the console never redirects to another origin after the sign-in', async () => {
    await driver.page.evaluate(`sessionStorage.setItem('console-return-to', '//evil.example/console/')`);
    await driver.goTo('');
    await driver.title('Overview');
    expect(new URL(driver.page.url()).origin).toBe(app.url);
  });
});

it('the console shows a javascript: address in the data of a partner or candidate as text, never as a link', async () => {
  // The service refuses an address that begins with `javascript:`. If the database contains such an address
  // nevertheless, the page shows it as text.
  const refused = await subscribed.patch({ partner_url: LINK });
  expect(refused.status).toBe(400);
  await app.given.sql('UPDATE subscriptions SET partner_url = $2 WHERE id = $1', [subscribed.id, LINK]);
  for (const path of ['/partners', `/partners/${subscribed.id}`, '/queue']) {
    await driver.goTo(path);
    // The page contains the address twice: as visible text, and as an option in a filter that is not open.
    const shown = driver.page.getByText(LINK).locator('visible=true').first();
    await shown.waitFor();
    await shown.click();
    await expectHarmless(path);
    expect(new URL(driver.page.url()).origin).toBe(app.url);
  }
  expect(driver.refusals()).toEqual([]);
});
