import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { GuideFiles } from '../../src/guide/guide.controller';
import { startApp, type TestApp } from '../support/app';
import { openPage } from '../support/browser';
import { ConsoleDriver } from '../support/console';
import { buildGuide } from '../support/guide';

const ROOT = resolve(__dirname, '../..');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const FONTS = ['Geist Variable', 'Geist Mono Variable'];
const WEIGHTS = ['400', '500', '600'];

let app: TestApp;
let driver: ConsoleDriver;
const folder = mkdtempSync(join(tmpdir(), 'eligibility-look-'));
const own = GuideFiles.folder;

beforeAll(async () => {
  expect(buildGuide(ROOT, folder)).toMatchObject({ status: 0, stderr: '' });
  GuideFiles.folder = folder;
  app = await startApp({ env: { BASE_PATH: '/v1' } });
  driver = await ConsoleDriver.start(app);
}, 120_000);
afterAll(async () => {
  GuideFiles.folder = own;
  await driver?.stop();
  await app?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Look {
  brand: string;
  font: string;
  loaded: string[];
  colours: string[];
  weights: string[];
}

/** Returns the brand mark, the fonts, the colours of text and links, and the font weights of a page. */
function lookOf(page: Page): Promise<Look> {
  return page.evaluate<Look>(`document.fonts.ready.then(() => {
    const brand = document.querySelector('.brand');
    const link = document.createElement('a');
    link.href = '/';
    document.body.append(link);
    const colours = [getComputedStyle(brand).color, getComputedStyle(link).color];
    link.remove();
    return {
      brand: brand.textContent.slice(0, 5) + ' ' + getComputedStyle(brand, '::before').backgroundImage.replace(/.*\\/(mark)[^/]*$/, '$1'),
      font: getComputedStyle(document.body).fontFamily,
      loaded: [...new Set([...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family.replaceAll('"', '')))],
      colours,
      weights: [...new Set([...document.querySelectorAll('body *')].map((element) => getComputedStyle(element).fontWeight))],
    };
  })`);
}

describe('the look of the product', () => {
  it('all pages, from the front page to the console, have the same logo, fonts, font weights and colours', async () => {
    const found: [string, string, Pick<Look, 'brand' | 'font' | 'colours'>][] = [];
    for (const path of ['/', '/problems', '/problems/voucher_expired', '/guide/', '/console', 'signed in']) {
      const { page, complaints } =
        path === 'signed in' ? { page: driver.page, complaints: [] } : await openPage(driver.browser);
      if (path !== 'signed in') await page.goto(app.url + path);
      await page.locator('.brand').first().waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const { brand, font, colours, loaded, weights } = await lookOf(page);
        expect([path, loaded.filter((family) => !FONTS.includes(family))]).toEqual([path, []]);
        expect([path, loaded.includes(FONTS[0])]).toEqual([path, true]);
        expect([path, weights.filter((weight) => !WEIGHTS.includes(weight))]).toEqual([path, []]);
        found.push([path, colorScheme, { brand, font, colours }]);
      }
      expect([path, complaints]).toEqual([path, []]);
      if (path !== 'signed in') await page.context().close();
    }
    const [[, , light], [, , dark]] = found;
    expect(light.brand).toBe('Admit mark');
    expect(light.font).toContain(FONTS[0]);
    expect(light.colours).not.toEqual(dark.colours);
    for (const [path, colorScheme, look] of found)
      expect([path, colorScheme, look]).toEqual([path, colorScheme, colorScheme === 'light' ? light : dark]);
  }, 60_000);

  it('the pages that the service renders itself are accessible and fit a screen 360 px wide, in both themes', async () => {
    const { page, complaints, refusals } = await openPage(driver.browser);
    for (const path of ['/', '/problems', '/problems/voucher_expired', '/guide/', '/guide/install.html'])
      for (const colorScheme of ['light', 'dark'] as const)
        for (const width of [1280, 360]) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 900 });
          await page.goto(app.url + path);
          // The page of one problem has the same markup as the catalogue of all problems. The accessibility checker
          // (axe) takes much longer for the catalogue.
          if (path !== '/problems') {
            await page.evaluate(AXE);
            const violations = await page.evaluate<string[]>(
              `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
            );
            expect([path, colorScheme, width, violations]).toEqual([path, colorScheme, width, []]);
          }
          const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
          expect([path, width, await page.evaluate(over)]).toEqual([path, width, 0]);
        }
    expect([complaints, refusals]).toEqual([[], []]);
    await page.context().close();
  }, 120_000);

  it('all buttons of a page except the primary one have the same background, border and font weight', async () => {
    for (const [path, heading] of [
      ['/notifications', 'Notifications'],
      ['/setup/users', 'Users'],
      ['/audit', 'Audit'],
    ]) {
      await driver.goTo(path);
      await driver.title(heading);
      await driver.button('CSV').first().waitFor();
      const shapes = await driver.page.evaluate<string[]>(
        `[...new Set([...document.querySelectorAll('.button:not(.primary)')].map((button) => {
          const { backgroundColor, borderTopWidth, borderRadius, fontWeight } = getComputedStyle(button);
          return [backgroundColor, borderTopWidth, borderRadius, fontWeight].join(' ');
        }))]`,
      );
      expect([path, shapes.length]).toEqual([path, 1]);
    }
    await driver.expectNoComplaints();
  });

  it('the service serves fonts and style sheets with their content types, and answers 404 to other names', async () => {
    const typeOf = async (name: string) => (await fetch(`${app.url}/look/${name}`)).headers.get('content-type');
    expect(await typeOf('geist-latin-wght-normal.woff2')).toBe('font/woff2');
    expect(await typeOf('look.css')).toBe('text/css; charset=utf-8');
    for (const name of ['nothing.css', '..%2Findex.html', '__proto__'])
      expect([name, (await fetch(`${app.url}/look/${name}`)).status]).toEqual([name, 404]);
  });
});
