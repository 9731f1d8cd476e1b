/**
 * `npm run demo`: the whole flow of the service over real HTTP, explained step by step. It starts the service with a
 * sandbox in a temporary folder, and a partner with its own certificate. Afterwards no process and no file remains.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { startPartner, type Partner } from '../test/support/partner.js';
import { Flow } from './flow.js';
import { EligibilityClient } from '../clients/typescript/src/index.js';
import { cyan, dim, green, Narrator } from './narrator.js';
import { ServiceProcess, type Login } from './service-process.js';

const LIMIT_MS = 120_000;

async function main(): Promise<number> {
  const started = Date.now();
  const narrator = new Narrator();
  narrator.title('Candidate eligibility service: the whole flow, over real HTTP');
  const service = ServiceProcess.start();
  let partner: Partner | null = null;
  let failed = false;
  try {
    partner = await startPartner();
    await Promise.race([walk(narrator, service, partner, started), interruption(), overtime()]);
  } catch (error) {
    failed = true;
    narrator.failed(error instanceof Error ? error.message : String(error));
    if (service.lastOutput !== '') narrator.line(`\n  The service's last lines:\n${service.lastOutput}`);
  }
  await partner?.stop();
  const code = await service.stop();
  if (code !== 0 && !failed) {
    failed = true;
    narrator.failed(`The service ended with exit code ${code ?? 'none: it was killed'}.`);
  }
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  narrator.line(
    failed ? `\nThe demo failed after ${seconds} s.` : `\n${green('✓')} The demo succeeded in ${seconds} s.`,
  );
  return failed ? 1 : 0;
}

async function walk(narrator: Narrator, service: ServiceProcess, partner: Partner, started: number): Promise<void> {
  narrator.step('Start');
  const { baseUrl, sandbox } = await service.ready();
  narrator.done('service', `${baseUrl}, with a PostgreSQL of its own, after ${Date.now() - started} ms`);
  narrator.done('partner', `${partner.url}, with a certificate of its own`);
  const flow = new Flow(narrator, partner, sandbox.account_code);

  narrator.step('Tokens, by the password grant');
  const [client, operator] = [clientOf(baseUrl, sandbox.client), clientOf(baseUrl, sandbox.operator)];
  await client.accessToken();
  narrator.done('client', 'every scope but those of operators');
  await operator.accessToken();
  narrator.done('operator', 'the same, and admin');
  flow.act(client, operator);

  const ada = { candidate_id: 'ADA-1', first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.org' };
  const grace = { candidate_id: 'GRACE-2', first_name: 'Grace', last_name: 'Hopper', email: 'grace@example.org' };

  narrator.step('Ada gets the right to sit an exam');
  const eligibility = await flow.createEligibility(ada);

  narrator.step('The operator subscribes the partner to the events of the account');
  await flow.subscribe();

  narrator.step('Ada books, and the partner is notified');
  const first = await flow.book(ada.candidate_id);
  narrator.json(await flow.expectEvent(first, 1, 'BOOKING_CREATED'));

  narrator.step('She moves the appointment, cancels it, and books another');
  await flow.reschedule(first);
  await flow.expectEvent(first, 2, 'BOOKING_RESCHEDULED');
  await flow.cancel(first);
  await flow.expectEvent(first, 3, 'BOOKING_CANCELLED');
  const second = await flow.book(ada.candidate_id);
  await flow.expectEvent(second, 1, 'BOOKING_CREATED');

  narrator.step('The test driver delivers her result, by the registration route');
  await flow.registrationResult(eligibility);
  await flow.expectEvent(second, 2, 'EXAM_COMPLETED');
  await flow.expectStatus(ada.candidate_id, 'COMPLETED');

  narrator.step('A cloud driver delivers it too, by the account route: kept, and no second event');
  await flow.accountResult(ada.candidate_id);
  await flow.expectResults(ada.candidate_id, ['ACCOUNT', 'REGISTRATION']);

  narrator.step('Grace books, but the partner does not know her: it answers 400');
  await flow.createEligibility(grace);
  partner.answer({
    status: 400,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"no such candidate"}',
  });
  const third = await flow.book(grace.candidate_id);
  const queued = await flow.expectQueued(third);

  narrator.step('The partner is put right; the operator sends the event again');
  partner.answer({ status: 200 });
  await flow.resend(queued, third);

  narrator.step('Nothing is left over');
  await flow.expectOnce(second, 'EXAM_COMPLETED');
  await flow.expectEmptyQueue();

  narrator.title('What the partner received');
  narrator.table(
    partner.requests.map(({ json, headers }, index) => [
      String(index + 1).padStart(2),
      (json as { booking_code: string }).booking_code,
      headers['event-sequence'] ?? '',
      (json as { change_reason: string }).change_reason,
      flow.answers[index] ?? '',
    ]),
  );
  narrator.line(dim('    The first is the sample by which a subscription is verified.'));
  narrator.line(`\n    ${cyan('npm start')} runs the service for you; README.md walks through the same by curl.`);
}

/** Creates a client with the package that clients install. */
function clientOf(baseUrl: string, { consumer_key, consumer_secret, username, password }: Login): EligibilityClient {
  const credentials = { consumerKey: consumer_key, consumerSecret: consumer_secret, username, password };
  return new EligibilityClient({ baseUrl, credentials });
}

function interruption(): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error('Interrupted.')));
  });
}

async function overtime(): Promise<never> {
  await pause(LIMIT_MS, undefined, { ref: false });
  throw new Error(`The demo did not end within ${LIMIT_MS / 1000} s.`);
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
