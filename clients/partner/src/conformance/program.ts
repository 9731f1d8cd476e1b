/**
 * Tests a partner's endpoint, and prints its faults. Usage: `npm run conformance -- --url https://… --secret whsec_…`.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { keyOf } from '../signature.js';
import { PartnerEndpoint } from './partner-endpoint.js';
import { judge } from './judge.js';
import { Scene } from './scene.js';

const USAGE = `usage: npm run conformance -- --url https://HOST/PATH --secret whsec_… [--ca FILE] [--header 'Name: value' …]
                         [--candidate ID] [--exam CODE] [--client-eligibility ID] [--wait SECONDS]

Sends invented notifications to {url}/notifications, and checks the answers against docs/notifications.md. The bookings' codes begin
with CONF. Never against production: name a candidate and an exam that your test system knows, where it takes no others.
The secret can also be in the environment variable WEBHOOK_SECRET.`;

/** Failures with which no request reaches the partner. */
const UNREACHABLE = /^no answer: (ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|\w*(CERT|SIGNATURE)\w*)$/;

class WrongUsage extends Error {}

/**
 * Runs the program with the arguments of the command line.
 * @returns the exit code: 0 if the partner passes every situation, 1 otherwise
 */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      secret: { type: 'string', default: process.env['WEBHOOK_SECRET'] },
      ca: { type: 'string' },
      header: { type: 'string', multiple: true, default: [] },
      candidate: { type: 'string', default: 'CONFORMANCE-CANDIDATE' },
      exam: { type: 'string', default: 'CONFORMANCE-EXAM' },
      'client-eligibility': { type: 'string' },
      wait: { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  });
  const { url, secret, ca, header, candidate, exam, wait } = values;
  if (values.help) {
    print(USAGE);
    return 0;
  }
  if (url === undefined || secret === undefined || !(Number(wait) > 0)) throw new WrongUsage(USAGE);
  keyOf(secret);
  const endpoint = new PartnerEndpoint({
    url,
    caPem: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
    headers: Object.fromEntries(header.map(headerOf)),
    waitMs: Number(wait) * 1000,
  });
  const scene = new Scene(endpoint, secret, {
    candidateId: candidate,
    examCode: exam,
    clientEligibilityId: values['client-eligibility'],
  });
  let all = 0;
  let wrong = 0;
  for await (const { title, sentence, fault } of judge(scene)) {
    all += 1;
    if (fault === null) {
      print(`right  ${title}`);
      continue;
    }
    if (all === 1 && UNREACHABLE.test(fault)) {
      endpoint.close();
      throw new Error(
        `The partner at ${url} cannot be reached (${fault}). If its certificate comes from your own certificate authority, pass the authority's certificate with --ca.`,
      );
    }
    wrong += 1;
    print(`WRONG  ${title}\n         ${fault}\n         docs/notifications.md: “${sentence}”`);
  }
  endpoint.close();
  print(`\n${all - wrong} of ${all} situations passed.`);
  return wrong === 0 ? 0 : 1;
}

function headerOf(text: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined) throw new WrongUsage(USAGE);
  return [name.toLowerCase(), value];
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof WrongUsage ? 2 : 1;
  },
);
