/**
 * Measures delivery to many partners.
 *
 * 1. For an account with 1, 10, 100 and 1,000 subscriptions, the figures are the cost of a notification and the number
 *    of notifications per second. The cost is the processor time of the service and of PostgreSQL together. The cost of
 *    an event without subscriptions is subtracted, because all notifications of an event share it. The figures are
 *    medians of alternating rounds.
 *
 * 2. Of a thousand partners in fifty accounts, 200 hang, and the name server of 50 does not answer. The figure is the
 *    time from the booking request to each arrival at the other partners, in alternating rounds with and without these
 *    failures.
 *
 * usage: node dist/bench/fan-out.js [--notifications 10000] [--partners 1000] [--rounds 4] (goals: a cost of at most
 * 1.3 times the cost with 10 subscriptions; a p95 of at most 1.2 times the p95 without failures; 300 MiB of memory with
 * a thousand partners. `--notifications 0` omits part 1, `--rounds 0` part 2.)
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { migrate } from '../src/platform/database/migrate.js';
import { callJson } from './calls.js';
import { runCommand } from './command.js';
import { median, quantile } from './figures.js';
import { PartnerFarm } from './partner-farm.js';
import { prepare, TEST_CODE } from './prepare.js';
import { peakResidentMiB, processorSeconds } from './processor-time.js';
import { ServiceProcess } from './service-process.js';
import { postmasterOf } from '../test/support/postmaster.js';

/** The numbers of subscriptions to measure. With 0 subscriptions, the cost of an event alone is measured. */
const FAN_OUTS = [0, 1, 10, 100, 1000];
const FAN_OUT_ROUNDS = 3;
const PARTNERS_OF_AN_ACCOUNT = 20;
const BOOKINGS_A_ROUND = 100;
const BETWEEN_BOOKINGS_MS = 100;
/** The time, in milliseconds, for which simulated failures may still have effects after they have ended. */
const CALM_MS = 3_000;
/**
 * The time limit, in milliseconds, for notifications to arrive and be recorded. When the limit is exceeded, an error
 * lists the missing notifications.
 */
const ARRIVE_MS = 60_000;

/**
 * SQL: inserts $3 copies of the booking event $2 of account $1. The events have no notifications yet, as if the process
 * had crashed after the booking.
 */
const LEFT_OVER = `INSERT INTO domain_events (event_id, name, account_code, stream, sequence, data, occurred_at, claimed_until)
  SELECT gen_random_uuid(), name, $1, upper(substr(md5(gen_random_uuid()::text), 1, 10)), 1, data, now(),
    now() - interval '1 second'
  FROM domain_events, generate_series(1, $3::int) WHERE stream = $2 AND sequence = 1`;
const LEFT = `SELECT (SELECT count(*) FROM domain_events WHERE settled_at IS NULL) + (SELECT count(*) FROM deliveries) AS n`;

const { values: options } = parseArgs({
  options: {
    notifications: { type: 'string', default: '10000' },
    partners: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '4' },
  },
});

class Bench {
  constructor(
    private readonly farm: PartnerFarm,
    private readonly service: ServiceProcess,
    private readonly client: pg.Client,
    private readonly token: string,
    private readonly pids: readonly number[],
  ) {}

  async fanOut(notifications: number): Promise<void> {
    const accounts: { subscriptions: number; account: string; known: string }[] = [];
    for (const subscriptions of FAN_OUTS) {
      const account = await this.account();
      const known = await this.book(account, 'first');
      for (let n = 0; n < subscriptions; n++) await this.subscribe(account, this.farm.url('well', n));
      accounts.push({ subscriptions, account, known });
    }
    process.stdout.write(
      'subscriptions   µs of processor   without the event   service   PostgreSQL   statements   connections   sent a second\n',
    );
    const costs: number[][] = FAN_OUTS.map(() => []);
    for (let round = 0; round <= FAN_OUT_ROUNDS; round++) {
      let ofEvent = 0;
      for (const [at, { subscriptions, account, known }] of accounts.entries()) {
        const events = Math.round(notifications / Math.max(1, subscriptions));
        // This delivery is not measured. It reopens connections that the service closed after a minute without use.
        await this.deliver(account, known, Math.max(1, Math.round(events / 10)), subscriptions);
        const { used, connections, rate } = await this.deliver(account, known, events, subscriptions);
        await this.client.query('TRUNCATE notifications, notification_attempts, deliveries');
        // The figures of the first round, in which PostgreSQL plans the statements, are printed but do not count.
        const told = subscriptions === 0 ? events : notifications;
        const [service, database, statements] = used.map((value) => value / told);
        const whole = service + database;
        if (subscriptions === 0) ofEvent = whole;
        const cost = subscriptions === 0 ? whole : whole - ofEvent / subscriptions;
        if (round > 0) costs[at].push(cost);
        const columns: [number, number, number][] = [
          [subscriptions, 13, 0],
          [whole * 1e6, 18, 0],
          [cost * 1e6, 20, 0],
          [service * 1e6, 10, 0],
          [database * 1e6, 13, 0],
          [statements, 13, 3],
          [connections, 14, 3],
          [rate, 16, 0],
        ];
        process.stdout.write(
          columns
            .map(([value, width, digits]) => (Number.isFinite(value) ? value.toFixed(digits) : '').padStart(width))
            .join('') + (round === 0 ? '   warm-up\n' : '\n'),
        );
      }
    }
    const [none, ...some] = costs.map((each) => median(each));
    process.stdout.write(
      `medians: an event that nobody is told of ${(none * 1e6).toFixed(0)} µs; each notification beside it `,
    );
    process.stdout.write(
      some
        .map((cost, at) => `${(cost * 1e6).toFixed(0)} µs with ${FAN_OUTS[at + 1]} (${(cost / some[1]).toFixed(2)})`)
        .join(', ') + '\n\n',
    );
    for (const { account } of accounts)
      await this.client.query('DELETE FROM subscriptions WHERE account_code = $1', [account]);
  }

  async trouble(partners: number, rounds: number): Promise<void> {
    const accounts: string[] = [];
    for (let n = 0; n < partners; n++) {
      if (n % PARTNERS_OF_AN_ACCOUNT === 0) accounts.push(await this.account());
      // Each account has twenty partners. Four of them hang, and the name server of one does not answer.
      const kind = n % 20 < 4 ? 'hanging' : n % 20 === 4 ? 'named' : 'well';
      await this.subscribe(accounts.at(-1)!, this.farm.url(kind, n));
    }
    await this.round(accounts, 'warm');
    const times = { well: [] as number[], trouble: [] as number[] };
    for (let n = 0; n < rounds; n++)
      // The order of the compared rounds alternates, so that neither kind of round always benefits from being first.
      for (const state of n % 2 === 0 ? (['well', 'trouble'] as const) : (['trouble', 'well'] as const)) {
        this.farm.hasTrouble = state === 'trouble';
        this.farm.dropConnections();
        times[state].push(...(await this.round(accounts, `${state}-${n}`)));
        this.farm.hasTrouble = false;
        await pause(CALM_MS);
      }
    const [well, trouble] = [times.well, times.trouble].map((all) => Float64Array.from(all).sort());
    const line = (sorted: Float64Array) =>
      `p50 ${quantile(sorted, 0.5).toFixed(1)} ms   p95 ${quantile(sorted, 0.95).toFixed(1)} ms`;
    process.stdout.write(
      `${well.length + trouble.length} notifications to the ${(partners * 3) / 4} others of ${partners} partners, from booking request to arrival\n` +
        `all well                                  ${line(well)}\n` +
        `a fifth hanging, a twentieth not resolved ${line(trouble)}\n` +
        `ratio of p95: ${(quantile(trouble, 0.95) / quantile(well, 0.95)).toFixed(2)}\n` +
        `the largest resident set of the service: ${peakResidentMiB(this.pids[0]).toFixed(0)} MiB\n`,
    );
  }

  /** Measures the processor time needed to notify an account's subscriptions of the given number of events. */
  private async deliver(account: string, known: string, events: number, subscriptions: number) {
    const [expected, before, connected] = [events * subscriptions, await this.used(), this.farm.connections];
    this.farm.arrivals = [];
    await this.client.query(LEFT_OVER, [account, known, events]);
    await this.arrived(expected);
    const times = Float64Array.from(this.farm.arrivals, ({ at }) => at).sort();
    const recorded = async () => {
      const { rows } = await this.client.query<{ n: string }>(LEFT);
      return rows[0].n === '0' || `${rows[0].n} events or notifications were not recorded.`;
    };
    // The database is polled rarely, because each query adds to PostgreSQL's measured processor time.
    await within(ARRIVE_MS, recorded, 500);
    const after = await this.used();
    return {
      used: after.map((value, at) => value - before[at]),
      connections: (this.farm.connections - connected) / expected,
      rate: (1000 * expected) / (times.at(-1)! - times[0]),
    };
  }

  private arrived(expected: number): Promise<void> {
    return within(ARRIVE_MS, () => {
      const { length } = this.farm.arrivals;
      return length >= expected || `${length} of ${expected} notifications arrived.`;
    });
  }

  /**
   * Returns the processor time of the service and of PostgreSQL, and the number of transactions. The latter
   * approximates the number of statements, because nearly every transaction has only one statement.
   */
  private async used(): Promise<number[]> {
    // The pause is needed because PostgreSQL's other sessions may report their counts up to a second after their last
    // statement.
    await pause(1_500);
    const { rows } = await this.client.query<{ n: string }>(
      'SELECT xact_commit AS n FROM pg_stat_database WHERE datname = current_database()',
    );
    return [...this.pids.map((pid) => processorSeconds(pid)), Number(rows[0].n)];
  }

  /**
   * Makes bookings. For each notification that arrives at a healthy partner, returns the time in milliseconds since its
   * booking.
   */
  private async round(accounts: readonly string[], name: string): Promise<number[]> {
    this.farm.arrivals = [];
    const booked = new Map<string, number>();
    for (let n = 0; n < BOOKINGS_A_ROUND; n++) {
      const { code, at } = await this.bookAt(accounts[n % accounts.length], `${name}-${n}`);
      booked.set(code, at);
      await pause(BETWEEN_BOOKINGS_MS);
    }
    await this.arrived((BOOKINGS_A_ROUND * PARTNERS_OF_AN_ACCOUNT * 3) / 4);
    return this.farm.arrivals.map(({ booking, at }) => at - booked.get(booking)!);
  }

  private async account(): Promise<string> {
    const { account_code } = await this.call('POST', '/admin/accounts', { name: 'Bench' });
    await this.call('PUT', `/admin/accounts/${account_code}/tests/${TEST_CODE}`, {
      name: 'Bench',
      portions: [{ portion_code: 'MAIN' }],
    });
    return account_code;
  }

  private async book(account: string, candidate: string): Promise<string> {
    return (await this.bookAt(account, candidate)).code;
  }

  private async bookAt(account: string, candidate: string): Promise<{ code: string; at: number }> {
    const path = `/accounts/${account}/candidates`;
    await this.call('POST', path, {
      test_code: TEST_CODE,
      candidate: { candidate_id: candidate, first_name: 'Ada', last_name: 'Lovelace' },
    });
    const at = performance.timeOrigin + performance.now();
    const { booking_code } = await this.call('POST', `${path}/${candidate}/tests/${TEST_CODE}/bookings`, {
      booking_on: '2030-01-01T09:00:00Z',
      delivery_mode: 'SVC_REMOTE_PROCTORED',
    });
    return { code: booking_code, at };
  }

  private async subscribe(account: string, partner_url: string): Promise<void> {
    const { id } = await this.call('POST', '/admin/subscriptions', {
      account_code: account,
      partner_url,
      ca_pem: this.farm.caPem,
      wait_ms: 2000,
    });
    await this.client.query(`UPDATE subscriptions SET state = 'ACTIVE' WHERE id = $1`, [id]);
  }

  private call(method: string, path: string, body: object): Promise<Record<string, string>> {
    return callJson(this.service.baseUrl, this.token, method, path, body);
  }
}

/**
 * Waits until everything has arrived; throws an error after the time limit.
 * @param look returns true when everything has arrived; otherwise returns a description of the missing notifications
 */
async function within(ms: number, look: () => true | string | Promise<true | string>, everyMs = 20): Promise<void> {
  const giveUpAt = performance.now() + ms;
  for (let found = await look(); found !== true; found = await look()) {
    if (performance.now() > giveUpAt) throw new Error(found);
    await pause(everyMs);
  }
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fan-out-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({ dataDir: folder, database: 'bench' });
  await migrate(server.url);
  const { token } = await prepare(server.url);
  const farm = await PartnerFarm.start();
  const service = new ServiceProcess(join(folder, 'service'), {
    DATABASE_URL: server.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT_PER_MINUTE: '0',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8',
    NODE_OPTIONS: `--require ${join(__dirname, 'own-name-server.js')}`,
    BENCH_NAME_SERVER: farm.nameServer,
  });
  const client = new pg.Client({ connectionString: server.url });
  try {
    await service.start();
    await client.connect();
    const bench = new Bench(farm, service, client, token, [service.pid, await postmasterOf(client)]);
    const [notifications, rounds] = [Number(options.notifications), Number(options.rounds)];
    if (notifications > 0) await bench.fanOut(notifications);
    if (rounds > 0) await bench.trouble(Number(options.partners), rounds);
  } finally {
    await client.end();
    await service.kill('SIGTERM');
    farm.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

runCommand(main);
