import { createReadStream, createWriteStream, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const USAGE = `usage: npm run import -- FILE.csv|FILE.ndjson [--dry-run] [--base-url URL] [--credentials FILE]

Credentials are a file of the shape of sandbox.json; without one, that of DATA_DIR (./data).`;
const LOOK_MS = 500;
const BAR = 30;

interface Credentials {
  base_url: string;
  token_url: string;
  account_code: string;
  client: { consumer_key: string; consumer_secret: string; username: string; password: string };
}

interface Progress {
  state: string;
  rows: number;
  done: number;
  created: number;
  updated: number;
  cancelled: number;
  refused: number;
}

/** Sends a file of eligibilities, shows how far it is, and writes the report beside it. Ends with 1 when a row was refused. */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'base-url': { type: 'string' }, credentials: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  });
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new Error(USAGE);
  const type = { '.csv': 'text/csv', '.ndjson': 'application/x-ndjson' }[extname(file).toLowerCase()];
  if (type === undefined) throw new Error('The name of the file must end with .csv or .ndjson.');
  const from = values.credentials ?? join(process.env['DATA_DIR'] ?? './data', 'sandbox.json');
  const credentials = JSON.parse(readFileSync(from, 'utf8')) as Credentials;
  const baseUrl = (values['base-url'] ?? credentials.base_url).replace(/\/+$/, '');
  const tokenUrl = values['base-url'] === undefined ? credentials.token_url : baseUrl;
  const imports = `${baseUrl}/accounts/${credentials.account_code}/eligibility-imports`;
  const token = tokenOf(tokenUrl, credentials.client);

  const { size } = statSync(file);
  const watched = async function* (): AsyncIterable<Uint8Array> {
    let sent = 0;
    for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
      show('sending', (sent += piece.length), size);
      yield piece;
    }
  };
  const headers = { authorization: `Bearer ${await token()}`, 'content-type': type };
  const { import_id } = (await answerOf(
    await fetch(`${imports}?dry_run=${values['dry-run'] === true}`, {
      method: 'POST',
      headers,
      body: Readable.toWeb(Readable.from(watched())),
      duplex: 'half',
    }),
  )) as { import_id: string };
  const path = `${imports}/${import_id}`;
  const get = async (address: string) => fetch(address, { headers: { authorization: `Bearer ${await token()}` } });

  let progress: Progress;
  for (;;) {
    progress = (await answerOf(await get(path))) as Progress;
    show('done', progress.done, progress.rows);
    if (progress.state !== 'RUNNING' && progress.state !== 'RECEIVING') break;
    await pause(LOOK_MS);
  }
  const report = `${file}.report.csv`;
  const answer = await get(`${path}/report`);
  await pipeline(Readable.fromWeb(answer.body as ReadableStream), createWriteStream(report));
  const { state, created, updated, cancelled, refused } = progress;
  process.stderr.write('\n');
  process.stdout.write(
    `${state}: ${created} created, ${updated} updated, ${cancelled} cancelled, ${refused} refused\n${report}\n`,
  );
  return state === 'DONE' && refused === 0 ? 0 : 1;
}

/** An access token that is asked for again before it ends: a large file takes longer than one lives. */
function tokenOf(tokenUrl: string, { consumer_key, consumer_secret, username, password }: Credentials['client']) {
  let held: { token: string; until: number } | null = null;
  return async (): Promise<string> => {
    if (held === null || Date.now() > held.until) {
      const answer = (await answerOf(
        await fetch(`${tokenUrl}/token`, {
          method: 'POST',
          headers: { authorization: `Basic ${Buffer.from(`${consumer_key}:${consumer_secret}`).toString('base64')}` },
          body: new URLSearchParams({ grant_type: 'password', username, password }),
        }),
      )) as { access_token: string; expires_in: number };
      held = { token: answer.access_token, until: Date.now() + (answer.expires_in / 2) * 1000 };
    }
    return held.token;
  };
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new Error(`The service answered ${response.status}: ${text}`);
  return JSON.parse(text) as unknown;
}

/** One line that is written over and over; not where nobody watches. */
function show(what: string, done: number, all: number): void {
  if (!process.stderr.isTTY) return;
  const share = all === 0 ? 1 : done / all;
  const full = Math.round(share * BAR);
  process.stderr.write(
    `\r${what.padEnd(8)}[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${Math.floor(share * 100)} % (${done}/${all})   `,
  );
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
