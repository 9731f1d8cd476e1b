/**
 * Measures the console in a real browser with a long error queue and many candidates. The figures are the times from a
 * key press or a click until the browser has drawn the result.
 *
 * usage: node dist/bench/console.js [--rows 200000] [--candidates 2000000] [--only 'open a partner']   (goal: each
 * under 100 ms)
 */
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { openPage, startBrowser } from '../test/support/browser.js';
import { runCommand } from './command.js';
import { fillQueue, makeOperator, startInside } from './inside.js';
import { TEST_CODE } from './prepare.js';
import { seedEligibilities } from './seed.js';

const ROUNDS = 7;

interface Interaction {
  name: string;
  /** The path of the measured page, and a text that appears when the page is ready. */
  path: string;
  ready: string;
  act: (page: Page) => Promise<void>;
  /** A JavaScript expression that is true in the page when the measured action is complete. */
  done: string;
}

const heading = (text: string) =>
  `[...document.querySelectorAll('main h1')].some(({ textContent }) => textContent.startsWith('${text}'))`;
const rows = (count: number) => `document.querySelectorAll('main tbody tr').length === ${count}`;

const ROW = 'main tbody td.main a';

const INTERACTIONS: readonly Interaction[] = [
  {
    name: 'open the error queue',
    path: '',
    ready: '.tile',
    act: (page) => page.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name: 'Error queue' }).click(),
    done: `document.querySelector('${ROW}') !== null && location.pathname.endsWith('/queue')`,
  },
  {
    name: 'open the palette',
    path: '/queue',
    ready: ROW,
    act: (page) => page.keyboard.press('Control+k'),
    done: `document.querySelector('.palette li') !== null`,
  },
  {
    name: 'count what a cause has',
    path: '/queue',
    ready: ROW,
    act: (page) =>
      page
        .getByRole('button', { name: /^Resend … ./ })
        .first()
        .click(),
    done: `document.querySelector('[role="dialog"] .preview') !== null`,
  },
  {
    name: 'open a cause',
    path: '/queue',
    ready: ROW,
    act: (page) => page.locator(ROW).first().click(),
    done: `document.querySelector('.list-bar .hint')?.textContent?.startsWith('50 ') && location.pathname.endsWith('/queue/notifications')`,
  },
  {
    name: 'choose a filter',
    path: '/queue/notifications',
    ready: ROW,
    act: async (page) => void (await page.getByLabel('Failure').selectOption('tls')),
    done: `!document.querySelector('.list.waiting') && document.querySelector('main tbody td:nth-child(5)')?.textContent === 'TLS error'`,
  },
  {
    name: 'find a booking',
    path: '/queue/notifications',
    ready: ROW,
    act: async (page) => {
      await page.getByLabel('Booking code').fill('B000000042');
      await page.keyboard.press('Enter');
    },
    done: `!document.querySelector('.list.waiting') && ${rows(1)}`,
  },
  {
    name: 'show more',
    path: '/queue/notifications',
    ready: ROW,
    act: (page) => page.getByRole('button', { name: 'Show more' }).click(),
    done: rows(100),
  },
  {
    name: 'choose all rows shown',
    path: '/queue/notifications',
    ready: ROW,
    act: (page) => page.getByLabel('All rows shown').click(),
    done: `document.querySelector('.chosen')?.textContent?.startsWith('50 selected')`,
  },
  {
    name: 'open one notification',
    path: '/queue/notifications',
    ready: ROW,
    act: (page) => page.locator(ROW).first().click(),
    done: heading('Absent B'),
  },
  {
    name: 'find a candidate',
    path: '/candidates',
    ready: '[data-search] input',
    act: async (page) => {
      await page.locator('[data-search] input').fill('seeded-1999');
      await page.keyboard.press('Enter');
    },
    done: `!document.querySelector('.list.waiting') && document.querySelector('main tbody')?.textContent?.includes('seeded-1999')`,
  },
  {
    name: 'open a candidate',
    path: '/candidates?q=seeded-1999',
    ready: ROW,
    act: (page) => page.locator(ROW).first().click(),
    done: `document.querySelector('.record .actions .button') !== null`,
  },
  {
    name: 'open a partner',
    path: '/partners',
    ready: ROW,
    act: (page) => page.locator(ROW).first().click(),
    done: `document.querySelector('.partner-actions .button') !== null && document.querySelector('.chart') !== null`,
  },
];

async function main(): Promise<void> {
  const options = {
    rows: { type: 'string', default: '200000' },
    candidates: { type: 'string', default: '2000000' },
    only: { type: 'string', default: '' },
  } as const;
  const { values } = parseArgs({ options, strict: false });
  const { account, token, baseUrl, databaseUrl, database, ...service } = await startInside();
  await fillQueue(database, databaseUrl, account, Number(values.rows));
  await seedCandidates(databaseUrl, account, Number(values.candidates));
  const operator = await makeOperator(baseUrl, token);

  const browser = await startBrowser();
  const { page } = await openPage(browser);
  await page.goto(`${baseUrl}/console`);
  await page.getByLabel('User name').fill(operator.username);
  await page.getByLabel('Password').fill(operator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Areas' }).waitFor();
  process.stdout.write(
    `${Number(values.rows)} notifications in the error queue, ${Number(values.candidates)} candidates\n`,
  );
  for (const interaction of INTERACTIONS)
    if (interaction.name.startsWith(String(values.only))) await measure(page, baseUrl, interaction);
  await browser.close();
  await service.stop();
}

async function measure(page: Page, baseUrl: string, { name, path, ready, act, done }: Interaction): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    await page.goto(`${baseUrl}/console${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator(ready).first().waitFor();
    // During this pause, the page loads the code of other pages in the background. The program cannot wait for an idle
    // network instead, because the network is never idle while the event stream is open.
    await pause(2500);
    await page.evaluate(watch(done));
    await act(page);
    const took = await page.evaluate<number>('window.interaction');
    // The first round does not count, because it includes loading the page's code.
    if (round > 0) times.push(took);
  }
  times.sort((one, other) => one - other);
  const median = times[Math.floor(times.length / 2)];
  process.stdout.write(
    `${name.padEnd(24)} median ${median.toFixed(0)} ms   worst ${times[times.length - 1].toFixed(0)} ms\n`,
  );
}

/**
 * Measures the time from the last key press or click until the browser draws a frame in which the condition holds. The
 * condition is part of the script, because the page's content security policy forbids `eval`.
 */
const watch = (done: string): string => `(() => {
  let began = 0;
  for (const kind of ['keydown', 'pointerdown', 'change'])
    addEventListener(kind, (event) => (began = event.timeStamp), { capture: true });
  window.interaction = new Promise((resolve) => {
    const look = () =>
      requestAnimationFrame(() => (began > 0 && (${done}) ? setTimeout(() => resolve(performance.now() - began)) : look()));
    look();
  });
})()`;

async function seedCandidates(url: string, accountCode: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const scene = {
    accountCode,
    testCode: TEST_CODE,
    portionCode: 'MAIN',
    schoolCode: null,
    accommodationCode: 'NONE',
    attributeKey: 'NONE',
  };
  await seedEligibilities(client, scene as never, count);
  await client.query('VACUUM ANALYZE eligibilities');
  await client.end();
}

runCommand(main);
