import { createReadStream, createWriteStream, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { EligibilityClient } from '../clients/typescript/src/index.js';

const USAGE = `usage: npm run import -- FILE.csv|FILE.ndjson [--dry-run] [--base-url URL] [--credentials FILE]

Credentials are a file of the shape of sandbox.json; without one, that of DATA_DIR (./data).`;
const BAR = 30;

interface Credentials {
  base_url: string;
  token_url: string;
  account_code: string;
  client: { consumer_key: string; consumer_secret: string; username: string; password: string };
}

/** Sends a file of eligibilities, shows how far it is, and writes the report beside it. Ends with 1 when a row was refused. */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'base-url': { type: 'string' }, credentials: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  });
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new Error(USAGE);
  const type = ({ '.csv': 'text/csv', '.ndjson': 'application/x-ndjson' } as const)[
    extname(file).toLowerCase() as '.csv'
  ];
  if (type === undefined) throw new Error('The name of the file must end with .csv or .ndjson.');
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
  const report = `${file}.report.csv`;
  const { progress } = await client.import(credentials.account_code, Readable.toWeb(Readable.from(watched())), {
    type,
    dryRun: values['dry-run'] === true,
    onProgress: ({ done, rows }) => show('done', done, rows),
    reportTo: Writable.toWeb(createWriteStream(report)),
  });
  const { state, created, updated, cancelled, refused } = progress;
  process.stderr.write('\n');
  process.stdout.write(
    `${state}: ${created} created, ${updated} updated, ${cancelled} cancelled, ${refused} refused\n${report}\n`,
  );
  return state === 'DONE' && refused === 0 ? 0 : 1;
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
