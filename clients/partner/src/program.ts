/**
 * Runs a sample partner from the command line. The kits for the other languages have the same commands and settings.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { digestOf, stepsOf, type DigestStep } from './digest.js';
import { FileStore } from './file-store.js';
import { heal } from './heal.js';
import { NotificationReceiver } from './notification-receiver.js';
import type { NotificationRequest } from './notification-request.js';
import { MemoryStore, placeOf } from './notification-store.js';
import { PartnerApi } from './partner-api.js';
import { poll } from './poll.js';
import { notificationListener } from './servers.js';
import { verifySignature } from './signature.js';

const USAGE = `usage: notification-partner serve            receives notifications at https://localhost:PORT
       notification-partner poll             fetches and acknowledges the notifications that are due
       notification-partner heal FROM TO     finds missing notifications between two times, and orders them again
       notification-partner vectors FILE     checks this package against vectors.json

Settings of the environment: STORE (a file), WEBHOOK_SECRET, PORT, TLS_CERT, TLS_KEY for serve;
STORE, BASE_URL, CONSUMER_KEY, CONSUMER_SECRET, SUBSCRIPTION_ID for poll and heal.`;

interface Vectors {
  signatures: {
    title: string;
    secrets: string[];
    now: number;
    headers: Record<string, string>;
    body: string;
    fault?: string;
  }[];
  ordering: {
    title: string;
    received: { id: string; booking_code: string; event_sequence: number; record: string; effective_date: string }[];
    outcomes: string[];
    newest: boolean[];
  }[];
  digests: {
    title: string;
    from: string;
    to: string;
    step_s: number;
    kept: { id: string; event_sequence: number; body: string }[];
    steps: DigestStep[];
  }[];
}

class WrongUsage extends Error {}

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new WrongUsage(`${name} is missing.\n\n${USAGE}`);
  return value;
}

const api = () =>
  new PartnerApi({
    baseUrl: setting('BASE_URL'),
    consumerKey: setting('CONSUMER_KEY'),
    consumerSecret: setting('CONSUMER_SECRET'),
    subscriptionId: setting('SUBSCRIPTION_ID'),
  });

function receiverOf(store: FileStore, secrets: string[]): NotificationReceiver {
  return new NotificationReceiver({
    secrets,
    store,
    work: ({ change_reason, booking_code }) => Promise.resolve(print(`${change_reason} ${booking_code}`)),
    changed: ({ change, svc_eligiblity_id }) => Promise.resolve(print(`${change} ${svc_eligiblity_id}`)),
    onFault: (error) => process.stderr.write(`${error.message}\n`),
  });
}

function serve(): void {
  const receiver = receiverOf(new FileStore(setting('STORE')), setting('WEBHOOK_SECRET').split(' '));
  const listener = notificationListener(receiver);
  const { TLS_CERT: cert, TLS_KEY: key } = process.env;
  const server =
    cert && key
      ? createHttpsServer({ cert: readFileSync(cert), key: readFileSync(key) }, listener)
      : createServer(listener);
  server.listen(Number(setting('PORT')), () => print('ready'));
}

/** Returns a sentence about the fault if the hash in the vectors file does not match the bytes of the file. */
function faultsOfBytes(file: Buffer): string[] {
  const name = '  "sha256": "';
  const before = file.subarray(0, Math.max(0, file.lastIndexOf(name)));
  const right = `${name}${createHash('sha256').update(before).digest('hex')}"\n}\n`;
  return file.subarray(before.length).equals(Buffer.from(right))
    ? []
    : ['vectors.json: its bytes do not have the hash in `sha256`'];
}

/** Returns a sentence for each test vector for which the package's result differs from the expected result. */
async function faultsOf({ signatures, ordering, digests }: Vectors): Promise<string[]> {
  const faults: string[] = [];
  const expect = (title: string, found: unknown, right: unknown) => {
    if (JSON.stringify(found) !== JSON.stringify(right))
      faults.push(`${title}: ${JSON.stringify(found)} instead of ${JSON.stringify(right)}`);
  };
  for (const { title, secrets, now, headers, body, fault } of signatures) {
    let found: string | undefined;
    try {
      verifySignature(headers, Buffer.from(body), secrets, { now: now * 1000 });
    } catch (error) {
      found = (error as { code?: string }).code;
    }
    expect(title, found ?? 'genuine', fault ?? 'genuine');
  }
  for (const { title, received, outcomes, newest } of ordering) {
    const store = new MemoryStore();
    const found: [string, boolean][] = [];
    for (const { id, event_sequence: sequence, record, ...notification } of received) {
      let isNewest = false;
      const arrival = { id, sequence, notification: { ...notification, client_eligibility_id: record } as never };
      const outcome = await store.once(arrival, (_none, newestOfRecord) => {
        isNewest = newestOfRecord;
        return Promise.resolve();
      });
      found.push([outcome, isNewest]);
    }
    expect(
      title,
      found,
      outcomes.map((outcome, index) => [outcome, newest[index]]),
    );
  }
  for (const { title, from, to, step_s, kept, steps } of digests) {
    const all = kept.map(({ id, event_sequence, body }) => ({
      id,
      atS: placeOf(JSON.parse(body) as NotificationRequest).atS,
      digest: digestOf(id, event_sequence, Buffer.from(body)),
    }));
    expect(title, stepsOf(all, Date.parse(from) / 1000, Date.parse(to) / 1000, step_s), steps);
  }
  return faults;
}

async function main([command, first, second]: string[]): Promise<void> {
  if (command === 'serve') serve();
  else if (command === 'poll')
    print(`${await poll(receiverOf(new FileStore(setting('STORE')), []), api())} acknowledged`);
  else if (command === 'heal' && first && second) {
    const { missing, calls } = await heal(api(), new FileStore(setting('STORE')), { from: first, to: second });
    print(`${missing.length} missing, found in ${calls} calls`);
  } else if (command === 'vectors' && first) {
    const file = readFileSync(first);
    const faults = [...faultsOfBytes(file), ...(await faultsOf(JSON.parse(file.toString()) as Vectors))];
    for (const fault of faults) print(`WRONG ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
    else print('The vectors are right.');
  } else throw new WrongUsage(USAGE);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof WrongUsage ? 2 : 1;
});
