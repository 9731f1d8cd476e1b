import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

// The folders that may contain node_modules. There are two, because the compiled version of this file is one folder
// deeper than the source.
const MODULES = ['../..', '../../..']
  .map((up) => join(__dirname, up, 'node_modules'))
  .find((folder) => existsSync(join(folder, '@sparticuz')))!;
const CHROMIUM = join(MODULES, '@sparticuz', 'chromium');
const { version } = JSON.parse(readFileSync(join(CHROMIUM, 'package.json'), 'utf8')) as { version: string };
const HOME = join(MODULES, '.cache', `chromium-${version}`);

/**
 * Starts a real Chromium from the npm dependencies. They include Chromium's libraries and a font, so that it needs no
 * system package. The browser can connect only to loopback addresses.
 */
export async function startBrowser(more: readonly string[] = []): Promise<Browser> {
  await unpackOnce();
  return chromium.launch({
    executablePath: join(HOME, 'chromium'),
    args: [
      // Chromium cannot run as root with its sandbox. The tests need no sandbox, because they open only our own pages.
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-pings',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--font-render-hinting=none',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
      ...more,
    ],
    env: {
      HOME,
      PATH: process.env['PATH'] ?? '',
      LD_LIBRARY_PATH: join(HOME, 'al2023', 'lib'),
      FONTCONFIG_FILE: join(HOME, 'fonts.conf'),
      TZ: 'America/New_York',
    },
  });
}

/**
 * Unpacks the package into a temporary folder of this process, and renames the folder. If several processes do this at
 * the same time, the first rename succeeds.
 */
async function unpackOnce(): Promise<void> {
  if (existsSync(join(HOME, 'chromium'))) return;
  // An incomplete folder is removed first. Such a folder exists if a Chromium was still running during a new
  // installation and wrote its font cache.
  rmSync(HOME, { recursive: true, force: true });
  mkdirSync(join(HOME, '..'), { recursive: true });
  const draft = mkdtempSync(`${HOME}-`);
  try {
    await promisify(execFile)(process.execPath, ['-e', 'require(process.argv[1]).executablePath()', CHROMIUM], {
      // The package unpacks its libraries only if this variable is set, as in an AWS Lambda function.
      env: { TMPDIR: draft, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' },
    });
    writeFileSync(
      join(draft, 'fonts.conf'),
      `<fontconfig><dir>${HOME}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${HOME}/fonts-cache</cachedir></fontconfig>`,
    );
    renameSync(draft, HOME);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(join(HOME, 'chromium'))) throw error;
  }
}

/** A page in its own browser context, with the errors that occurred in the page. */
export interface WatchedPage {
  readonly page: Page;
  /** Console errors and warnings, uncaught exceptions, and violations of the content security policy. */
  readonly complaints: string[];
  /**
   * The responses with a status of 400 or above, as `status METHOD path`. They are listed separately from the
   * complaints, because the browser reports them as errors even when a test expects them.
   */
  readonly refusals: string[];
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  const refusals: string[] = [];
  page.on('console', (message) => {
    const told = message.type() === 'error' || message.type() === 'warning';
    if (told && !message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('requestfailed', (request) => {
    const fault = request.failure()?.errorText;
    // Aborted requests are ignored, because the browser aborts a page's requests, such as the event stream, when the
    // page is left.
    if (fault !== 'net::ERR_ABORTED') complaints.push(`${request.url()} ${fault}`);
  });
  page.on('response', (response) => {
    if (response.status() < 400) return;
    refusals.push(`${response.status()} ${response.request().method()} ${new URL(response.url()).pathname}`);
  });
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', (event) =>
       console.error('CSP', event.effectiveDirective, event.blockedURI, event.sample));`,
  );
  return { page, complaints, refusals };
}
