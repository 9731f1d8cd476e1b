/**
 * Compares two builds of the service. The compared work is creating records, booking, and delivering the notifications
 * of the bookings.
 *
 * Both builds run side by side on one PostgreSQL, each with its own database and partner. In each round, the program
 * first suspends the subscription on one build and creates the given number of records, each with a booking. It then
 * resumes the subscription. Afterwards, it repeats these steps on the other build. The figures are the rate, and the
 * processor time of the service and of PostgreSQL for each call. Each figure is this build's value divided by the other
 * build's value. The program prints the median of the rounds and the quartiles. The subscriptions do not select record
 * changes, so that only bookings cause notifications.
 *
 * usage: node dist/bench/two-builds.js --other FOLDER [--rounds 10] [--calls 2000]
 */
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SCOPES } from '../src/platform/context/caller.js';
import { Caller, callJson } from './calls.js';
import { runCommand } from './command.js';
import { median, quantile, round } from './figures.js';
import { prepare, TEST_CODE } from './prepare.js';
import { withProcessorTime } from './processor-time.js';
import { Program } from './program.js';
import type { Received, ReceiverReady } from './receiver.js';
import { ServiceProcess } from './service-process.js';
import { Stage } from './stage.js';

const CONNECTIONS = 16;
const WORKS = ['create', 'book', 'deliver'] as const;
type Work = (typeof WORKS)[number];
/** Release 1.0 does not have the `partner` scope. */
const SCOPES_OF_BOTH = SCOPES.filter((scope) => scope !== 'partner');

const candidateBody = (candidate_id: string): string =>
  JSON.stringify({
    candidate: {
      candidate_id,
      first_name: 'Ada',
      middle_name: 'Byron',
      last_name: 'Lovelace',
      address1: '12 St James Square',
      city: 'Springfield',
      province_state: 'IL',
      postal_code: '62701',
      country: 'US',
      email: 'ada@example.org',
      home_phone: '+1 217 555 0100',
    },
    test_code: TEST_CODE,
    eligibility_end_date: '2036-01-01T00:00:00Z',
  });
const BOOKING = JSON.stringify({ booking_on: '2030-03-01T09:00:00Z', delivery_mode: 'SVC_REMOTE_PROCTORED' });

interface Contestant {
  readonly service: ServiceProcess;
  readonly work: Record<Work, (first: number, count: number) => Promise<void>>;
  readonly figures: Record<Work, { rate: number; service: number; postgres: number }[]>;
}

async function contestantOf(stage: Stage, name: string, build: string): Promise<Contestant> {
  const url = await stage.createDatabase(name);
  const service = new ServiceProcess(
    join(stage.folder, name),
    {
      DATABASE_URL: url,
      SECRETS_KEY: randomBytes(32).toString('base64'),
      HOST: '127.0.0.1',
      PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
      RATE_LIMIT_PER_MINUTE: '0',
    },
    [join(build, 'dist/main.js')],
  );
  stage.onClear(() => service.kill('SIGTERM'));
  await service.start();
  const receiver = await Program.start<ReceiverReady>('receiver', {}, stage.log);
  stage.onClear(() => receiver.stop());
  const { account, token } = await prepare(url, 'bench', SCOPES_OF_BOTH);
  const post = (path: string, body?: object) => callJson(service.baseUrl, token, 'POST', path, body);
  const { id } = await post('/admin/subscriptions', {
    account_code: account,
    partner_url: receiver.ready.url,
    ca_pem: receiver.ready.caPem,
  });
  await post(`/admin/subscriptions/${id}/verify`);
  const caller = new Caller(service.baseUrl, token, CONNECTIONS);
  stage.onClear(() => caller.close());
  const each = async (first: number, count: number, call: (number: number) => Promise<void>): Promise<void> => {
    let next = first;
    const worker = async () => {
      while (next < first + count) await call(next++);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  };
  return {
    service,
    work: {
      create: async (first, count) => {
        await post(`/admin/subscriptions/${id}/suspend`);
        await each(first, count, (number) =>
          caller.call('POST', `/accounts/${account}/candidates`, candidateBody(`c-${number}`)),
        );
      },
      book: (first, count) =>
        each(first, count, (number) =>
          caller.call('POST', `/accounts/${account}/candidates/c-${number}/tests/${TEST_CODE}/bookings`, BOOKING),
        ),
      deliver: async (_, count) => {
        await receiver.ask({ expect: count });
        const all = receiver.heard<Received>();
        await post(`/admin/subscriptions/${id}/resume`);
        await all;
      },
    },
    figures: { create: [], book: [], deliver: [] },
  };
}

async function main(): Promise<boolean> {
  const text = (fallback?: string) => ({ type: 'string', default: fallback }) as const;
  const options = { other: text(), rounds: text('10'), calls: text('2000') };
  const { values } = parseArgs({ options, strict: false });
  if (!values.other) throw new Error('--other FOLDER is missing: the folder of the other build.');
  const [rounds, calls] = [Number(values.rounds), Number(values.calls)];
  const stage = await Stage.open();
  try {
    const ours = await contestantOf(stage, 'ours', join(__dirname, '../..'));
    const other = await contestantOf(stage, 'other', resolve(values.other as string));
    const postgres = [await stage.postmaster()];
    // Round 0 warms up both services and is not counted.
    for (let number = 0; number <= rounds; number++) {
      for (const which of number % 2 === 0 ? [ours, other] : [other, ours]) {
        for (const work of WORKS) {
          const begun = performance.now();
          const [, used] = await withProcessorTime({ service: [which.service.pid], postgres }, () =>
            which.work[work](number * calls, calls),
          );
          const rate = calls / ((performance.now() - begun) / 1000);
          const perCall = { service: (used.service / calls) * 1e6, postgres: (used.postgres / calls) * 1e6 };
          if (number > 0) which.figures[work].push({ rate, ...perCall });
        }
      }
    }
    for (const work of WORKS) {
      const of = (contestant: Contestant, figure: 'rate' | 'service' | 'postgres') =>
        contestant.figures[work].map((one) => one[figure]);
      const line = (['rate', 'service', 'postgres'] as const).map((figure) => {
        const unit = figure === 'rate' ? '/s' : ' µs';
        const absolute = `${round(median(of(ours, figure)))} and ${round(median(of(other, figure)))}${unit}`;
        const ratios = Float64Array.from(of(ours, figure), (value, round) => value / of(other, figure)[round]).sort();
        const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3));
        return `${figure} ${middle} [${low}, ${high}] (${absolute})`;
      });
      process.stdout.write(`${work.padEnd(8)} ${line.join('   ')}\n`);
    }
    return true;
  } finally {
    await stage.close();
  }
}

runCommand(main);
