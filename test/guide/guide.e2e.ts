import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { GuideFiles } from '../../src/guide/guide.controller';
import { startApp, type TestApp } from '../support/app';
import { openPage, startBrowser } from '../support/browser';
import { buildGuide } from '../support/guide';

const ROOT = resolve(__dirname, '../..');

describe('the guide on the web', () => {
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-guide-'));
  const pages = join(folder, 'guide');
  const own = GuideFiles.folder;
  let app: TestApp;
  let browser: Browser;

  beforeAll(async () => {
    expect(buildGuide(ROOT, pages)).toMatchObject({ status: 0, stderr: '' });
    GuideFiles.folder = pages;
    app = await startApp({ env: { BASE_PATH: '/v1' } });
    browser = await startBrowser();
  }, 120_000);
  afterAll(async () => {
    GuideFiles.folder = own;
    await browser?.close();
    await app?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const html = () => readdirSync(pages, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));

  it('the guide is public, and the page at / links to it', async () => {
    const at = await app.call('GET', '/', { headers: { accept: 'text/html' } });
    expect(at.text).toContain('href="/v1/guide/"');
    expect((await app.call('GET', '/')).body.guide).toBe(`${app.url}/guide/`);
    const moved = await app.call('GET', '/guide');
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/v1/guide/']);
    for (const name of ['clients', 'test-drivers', 'notifications', 'operations', 'runbook', 'install'])
      expect(html()).toContain(`${name}.html`);
    expect(html().length).toBeGreaterThan(45);
  });

  it('each page of the guide and the page at / has a description of at most 165 characters for search engines', async () => {
    const pagesOf = html().map((name) => readFileSync(join(pages, name), 'utf8'));
    const start = (await app.call('GET', '/', { headers: { accept: 'text/html' } })).text;
    for (const page of [start, ...pagesOf]) {
      const [, description = ''] = page.match(/<meta name="description" content="([^"]+)">/) ?? [];
      expect(description.length).toBeGreaterThan(5);
      expect(description.replaceAll(/&\w+;/g, '"').length).toBeLessThanOrEqual(165);
    }
  });

  it('the guide links only to existing pages', async () => {
    const addresses = new Set<string>();
    for (const name of html())
      for (const [, address] of readFileSync(join(pages, name), 'utf8').matchAll(/(?:href|src)="([^"]+)"/g))
        if (!/^https?:/.test(address)) addresses.add(new URL(address, `${app.url}/guide/${name}`).href);
    expect(addresses.size).toBeGreaterThan(200);
    const known = new Map<string, string>();
    for (const address of addresses) {
      const [path, anchor] = address.split('#');
      if (!known.has(path)) {
        const answer = await fetch(path);
        known.set(path, answer.status === 200 ? await answer.text() : '');
      }
      expect([address, known.get(path) !== '']).toEqual([address, true]);
      if (anchor)
        expect([address, known.get(path)!.includes(`id="${decodeURIComponent(anchor)}"`)]).toEqual([address, true]);
    }
  });

  it('every page of the guide works under the strictest content security policy and shows its images', async () => {
    const { page, complaints, refusals } = await openPage(browser);
    const policy = (await fetch(`${app.url}/guide/`)).headers.get('content-security-policy');
    expect(policy).toContain("style-src 'self';");
    expect(policy).toContain("require-trusted-types-for 'script'");
    const picture = `${app.url}/guide/diagrams/${readdirSync(join(pages, 'diagrams'))[0]}`;
    const ofPicture = (await fetch(picture)).headers.get('content-security-policy');
    expect(ofPicture).toBe("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    for (const name of html()) {
      await page.goto(`${app.url}/guide/${name}`);
      expect(await page.title()).toMatch(/. · Admit$/);
      const unseen = await page.locator('img').evaluateAll((images) =>
        Promise.all(
          images.map(async (image: any) => {
            image.loading = 'eager';
            await image.decode().catch(() => undefined);
            return image.naturalWidth > 0 ? [] : [image.src as string];
          }),
        ),
      );
      expect([name, unseen.flat()]).toEqual([name, []]);
    }
    expect([complaints, refusals]).toEqual([[], []]);
  }, 180_000);

  it('the API page shows every operation and every member as text, so that a browser’s search finds them', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${app.url}/guide/api.html`);
    // An operation far below the visible part is not laid out yet. The browser's search finds it all the same (CSS
    // Containment Level 2, section 4.2), but `innerText` and axe do not.
    await page.evaluate(
      `for (const { style } of document.querySelectorAll('article')) style.contentVisibility = 'visible'`,
    );
    const text = await page.locator('main').innerText();
    const document = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as {
      paths: Record<string, object>;
      components: { schemas: Record<string, { properties?: object }> };
    };
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const members = Object.values(document.components.schemas).flatMap(({ properties = {} }) =>
      Object.keys(properties),
    );
    expect(operations.length).toBeGreaterThan(100);
    expect([...operations, ...members].filter((name) => !text.includes(name))).toEqual([]);
    await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 360]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        const found = await page.evaluate<string[]>(
          `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
        );
        expect([colorScheme, width, found]).toEqual([colorScheme, width, []]);
      }
    expect(complaints).toEqual([]);
  }, 120_000);

  it('the guide can be searched by words and codes, using only the keyboard', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${app.url}/guide/install.html`);
    await page.keyboard.press('/');
    await page.keyboard.type('voucher_exhausted');
    await page.locator('#found a').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${app.url}/guide/problems.html#voucher_exhausted`);
    await page.locator('#voucher_exhausted').waitFor();
    await page.locator('#search').fill('zzzzqqqq');
    await page.getByText('Nothing found.').waitFor();
    expect(complaints).toEqual([]);
  });

  it('the service serves each page of the guide as Markdown, at a separate address and in response to the Accept header', async () => {
    for (const name of html()) {
      const own = await fetch(`${app.url}/guide/${name.replace(/html$/, 'md')}`);
      expect([name, own.status, own.headers.get('content-type')]).toEqual([name, 200, 'text/markdown; charset=utf-8']);
      const text = await own.text();
      expect([name, text]).toEqual([name, expect.stringMatching(/^# \S/)]);
      const preferred = await fetch(`${app.url}/guide/${name}`, {
        headers: { accept: 'text/markdown, text/html;q=0.5' },
      });
      expect([preferred.headers.get('vary'), await preferred.text()]).toEqual([
        expect.stringContaining('Accept'),
        text,
      ]);
    }
    for (const accept of ['text/html', '*/*', 'text/html,application/xhtml+xml,*/*;q=0.8']) {
      const { headers } = await fetch(`${app.url}/guide/install.html`, { headers: { accept } });
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    }
  });

  it('the guide’s llms.txt lists every page, and all links in llms.txt and in the Markdown pages work', async () => {
    const first = await fetch(`${app.url}/llms.txt`);
    expect([first.status, first.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(first.headers.get('etag')).not.toBeNull();
    const list = await first.text();
    // According to llmstxt.org, an llms.txt file must have a title, a summary and lists of links.
    expect(list).toMatch(/^# .+\n\n> .+\n\n[^]*\n## .+\n\n- \[/);
    const asked = new Map<string, Promise<number>>();
    const statusOf = (address: string) => {
      const [path] = address.split('#');
      if (!asked.has(path))
        asked.set(
          path,
          fetch(path).then(({ status }) => status),
        );
      return asked.get(path)!;
    };
    const follow = async (text: string, at: string) => {
      const prose = text.replaceAll(/^ *```[^]*?^ *```$/gm, '').replaceAll(/`[^`]*`/g, '');
      for (const [, href] of prose.matchAll(/\]\(([^()\s]+)\)/g))
        if (!/^https?:/.test(href)) expect([at, href, await statusOf(new URL(href, at).href)]).toEqual([at, href, 200]);
    };
    await follow(list, `${app.url}/llms.txt`);
    for (const name of html()) {
      const page = name.replace(/html$/, 'md');
      expect(list).toContain(`](guide/${page}`);
      await follow(readFileSync(join(pages, page), 'utf8'), `${app.url}/guide/${page}`);
    }
    expect(asked.size).toBeGreaterThan(60);
  });

  it('the guide returns 304 to a browser that has the current page, and 404 for a path outside its folder', async () => {
    const first = await fetch(`${app.url}/guide/clients.html`);
    const tag = first.headers.get('etag')!;
    await first.text();
    const again = await fetch(`${app.url}/guide/clients.html`, { headers: { 'if-none-match': tag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    for (const path of ['nothing.html', '..%2f..%2fpackage.json', '%2e%2e/package.json', 'files', 'decisions'])
      expect([path, (await fetch(`${app.url}/guide/${path}`)).status]).toEqual([path, 404]);
  });

  it('the guide’s texts are compressed for a client that accepts Brotli, and its fonts and pictures are not', async () => {
    const coding = async (path: string, accepted: string) => {
      const response = await fetch(`${app.url}/guide/${path}`, { headers: { 'accept-encoding': accepted } });
      return [response.headers.get('content-encoding'), response.headers.get('vary'), await response.text()] as const;
    };
    for (const path of ['api.html', 'api.md', 'guide.css', 'search.js']) {
      const [[brief, vary, text], plain] = [await coding(path, 'gzip, br'), await coding(path, 'identity')];
      expect([path, brief, plain[0]]).toEqual([path, 'br', null]);
      expect([path, vary, plain[1]]).toEqual([path, plain[1], expect.stringContaining('Accept-Encoding')]);
      expect(text).toBe(plain[2]);
    }
    const [font] = readdirSync(join(pages, 'look')).filter((name) => name.endsWith('.woff2'));
    expect((await coding(`look/${font}`, 'br'))[0]).toBeNull();
  });

  it('the guide check reports a dead link, a diagram that was not drawn, or a missing document', () => {
    const copy = join(folder, 'copy');
    for (const name of ['site', 'docs', 'clients', 'deploy', 'package.json'])
      cpSync(join(ROOT, name), join(copy, name), { recursive: true });
    for (const name of readdirSync(ROOT).filter((file) => file.endsWith('.md')))
      cpSync(join(ROOT, name), join(copy, name));
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    const page = join(copy, 'docs/install.md');
    const text = readFileSync(page, 'utf8');
    for (const [planted, complaint] of [
      ['[x](nowhere.md)', 'which is no file'],
      ['[x](clients.md#nowhere)', 'which is no heading'],
      ['```mermaid\ngraph TD; A-->B\n```', 'has a diagram without'],
    ]) {
      writeFileSync(page, `${text}\n${planted}\n`);
      const { status, stderr } = buildGuide(copy, join(folder, 'broken'));
      expect([planted, status, stderr.includes(complaint)]).toEqual([planted, 1, true]);
    }
    writeFileSync(page, text);
    writeFileSync(join(copy, 'docs/stray.md'), '# Stray\n');
    expect(buildGuide(copy, join(folder, 'broken')).stderr).toContain('docs/stray.md is not in site/outline.mjs');
  }, 60_000);
});
