import { createReadStream, createWriteStream, openSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { EligibilityClient, ProblemError } from '../clients/typescript/src/index.js';

const USAGE = `usage: npm run import -- FILE.csv|FILE.ndjson [--dry-run] [--base-url URL] [--credentials FILE]

The report is written next to the file, and never overwrites the report of an earlier run. Ctrl-C aborts the import; rows
that were already processed stay processed. The credentials file has the form of sandbox.json; by default, the sandbox.json
in DATA_DIR (./data) is used.`;
const BAR = 30;

interface Credentials {
  base_url: string;
  token_url: string;
  account_code: string;
  client: { consumer_key: string; consumer_secret: string; username: string; password: string };
}

/**
 * Imports a file of eligibilities. Sends the file to the service, shows the progress, and writes the report next to the
 * file. The exit code is 1 if a row was refused.
 */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'base-url': { type: 'string' }, credentials: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  });
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new Error(USAGE);
  const type = typeOf(file);
  const from = values.credentials ?? join(process.env['DATA_DIR'] ?? './data', 'sandbox.json');
  const credentials = JSON.parse(readFileSync(from, 'utf8')) as Credentials;
  const baseUrl = (values['base-url'] ?? credentials.base_url).replace(/\/+$/, '');
  const { consumer_key, consumer_secret, username, password } = credentials.client;
  const client = new EligibilityClient({
    baseUrl,
    tokenUrl: values['base-url'] === undefined ? credentials.token_url : baseUrl,
    credentials: { consumerKey: consumer_key, consumerSecret: consumer_secret, username, password },
  });

  const { size } = statSync(file);
  const watched = async function* (): AsyncIterable<Uint8Array> {
    let sent = 0;
    for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
      show('sending', (sent += piece.length), size);
      yield piece;
    }
  };
  const stop = new AbortController();
  let importId: string | null = null;
  const end = () => {
    if (stop.signal.aborted) return;
    process.stderr.write(
      importId === null ? '\nStopping: nothing is imported.\n' : `\nStopping the import ${importId}.\n`,
    );
    stop.abort();
  };
  // Ctrl-C aborts the import. Both SIGINT and SIGTERM are handled: npm also receives the SIGINT and may exit first, and
  // then scripts/start.mjs sends SIGTERM to this process.
  process.on('SIGINT', end).on('SIGTERM', end);
  let report: string | null = null;
  const sent = client.import(credentials.account_code, Readable.toWeb(Readable.from(watched())), {
    type,
    dryRun: values['dry-run'] === true,
    signal: stop.signal,
    onStart: (id) => process.stderr.write(`\nimport ${(importId = id)}\n`),
    onProgress: ({ done, rows }) => show('done', done, rows),
    reportTo: () => {
      const opened = openReport(file);
      report = opened.path;
      return Writable.toWeb(createWriteStream(opened.path, { fd: opened.descriptor }));
    },
  });
  const { progress } = await sent.catch((error: unknown) => {
    throw stop.signal.aborted && importId === null ? new Error('Stopped: nothing was imported.') : error;
  });
  const { state, rows, created, updated, unchanged, cancelled, refused } = progress;
  process.stderr.write('\n');
  if (rows === 0) process.stdout.write('The file has no rows. Nothing was changed.\n');
  process.stdout.write(
    `${state}: ${created} created, ${updated} updated, ${cancelled} cancelled, ${refused} refused, ${unchanged} unchanged\n${report ?? ''}\n`,
  );
  if (stop.signal.aborted) return INTERRUPTED;
  return state === 'DONE' && refused === 0 ? 0 : 1;
}

/** The exit code that shells report for a program that was ended by Ctrl-C. */
const INTERRUPTED = 130;

const TYPES = new Map<string, 'text/csv' | 'application/x-ndjson'>([
  ['.csv', 'text/csv'],
  ['.txt', 'text/csv'],
  ['.tsv', 'text/csv'],
  ['.ndjson', 'application/x-ndjson'],
  ['.jsonl', 'application/x-ndjson'],
]);

function typeOf(file: string): 'text/csv' | 'application/x-ndjson' {
  const ending = extname(file).toLowerCase();
  const type = TYPES.get(ending);
  if (type !== undefined) return type;
  if (['.xlsx', '.xls', '.xlsm', '.ods'].includes(ending))
    throw new Error(`${file} is a workbook: save it as "CSV UTF-8", and import that file.`);
  if (['.gz', '.zip'].includes(ending))
    throw new Error(`${file} is compressed: decompress it, and import the file in it.`);
  throw new Error(`The name of the file must end with ${[...TYPES.keys()].join(', ')}.`);
}

/** Creates the file for the report next to the imported file. The report of an earlier run is never overwritten. */
function openReport(file: string): { path: string; descriptor: number } {
  for (let number = 1; ; number++) {
    const path = `${file}.report${number === 1 ? '' : `-${number}`}.csv`;
    try {
      return { path, descriptor: openSync(path, 'wx') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Describes an error for the user. Each fault of a refused file is on its own line. */
function wordsOf(error: unknown): string {
  if (!(error instanceof ProblemError)) return error instanceof Error ? error.message : String(error);
  const faults = (error.problem?.errors ?? []).map(({ detail }) => `  ${detail}`);
  if (faults.length === 0) return error.problem?.detail ?? error.message;
  return ['The file was refused, and nothing was imported:', ...faults].join('\n');
}

/**
 * Shows the progress of the import by overwriting the current line. If the output is not a terminal, nothing is
 * written.
 */
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
    process.stderr.write(`\n${wordsOf(error)}\n`);
    process.exit(1);
  },
);
