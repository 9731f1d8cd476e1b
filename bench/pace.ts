/**
 * Tests delivery to a partner whose rate limit changes over time. The partner reports the limit only by responses with
 * 429.
 *
 * The test runs with one process and with three processes. The partner has a long backlog and allows each of the rates
 * in turn. The figures are the used share of each rate, the share of 429 among the responses, and the number of
 * notifications that an operator would have to resend. Meanwhile, another partner gets a notification of each booking.
 * The delay of these notifications is compared with their delay in an earlier quiet time.
 *
 * usage: node dist/bench/pace.js [--rates 5,50,1,500] [--seconds 60] [--processes 1,3] [--quiet 60] (goals: at least
 * 0.8 of each rate used; at most 0.05 of the responses with 429; no notification left to an operator; p95 of the other
 * partner at most 1.2 times its quiet p95. A short trial run: --rates 5,50 --seconds 3 --processes 1 --quiet 3)
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate } from '../src/platform/database/migrate.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { Authority } from '../test/support/certificates.js';
import { callJson } from './calls.js';
import { runCommand } from './command.js';
import { quantile } from './figures.js';
import { prepare, TEST_CODE } from './prepare.js';
import { seedNotifications } from './seed.js';
import { ServiceProcess } from './service-process.js';

const BOOKINGS_A_SECOND = 5;
/** The time limit for the notifications of the last bookings to arrive. */
const ARRIVE_MS = 5_000;
const USED = 0.8;
const REFUSED = 0.05;
const DELAYED = 1.2;

const { values: options } = parseArgs({
  options: {
    rates: { type: 'string', default: '5,50,1,500' },
    seconds: { type: 'string', default: '60' },
    processes: { type: 'string', default: '1,3' },
    quiet: { type: 'string', default: '60' },
  },
});
const numbers = (list: string) => list.split(',').map(Number);

/**
 * Two partners on one server: `/paced` accepts the allowed number of requests in any second, and `/other` accepts all
 * requests.
 */
class Partners {
  /** The number of requests that the partner with the rate limit allows in any second. */
  allowed = 0;
  /** The numbers of accepted and refused requests to the partner with the rate limit. */
  counts = { taken: 0, refused: 0 };
  /** The time at which the first notification of each booking arrived at the partner without a rate limit. */
  readonly arrivals = new Map<string, number>();
  private readonly taken: number[] = [];

  private constructor(
    readonly caPem: string,
    private readonly server: Server,
  ) {}

  static async start(): Promise<Partners> {
    const authority = await Authority.create();
    const { certPem, keyPem } = await authority.issue('localhost');
    const server = createServer({ cert: certPem, key: keyPem });
    const partners = new Partners(authority.certPem, server);
    server.keepAliveTimeout = 0;
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const isTaken = request.url!.startsWith('/paced/')
          ? partners.take()
          : partners.arrive(Buffer.concat(chunks).toString());
        response.writeHead(isTaken ? 200 : 429, { 'content-length': 0 }).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return partners;
  }

  url(name: 'paced' | 'other'): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}/${name}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private take(): boolean {
    const now = performance.now();
    while (this.taken.length > 0 && this.taken[0] <= now - 1000) this.taken.shift();
    const isTaken = this.taken.length < this.allowed;
    if (isTaken) this.taken.push(now);
    this.counts[isTaken ? 'taken' : 'refused'] += 1;
    return isTaken;
  }

  private arrive(body: string): boolean {
    const { booking_code } = JSON.parse(body) as { booking_code: string };
    if (!this.arrivals.has(booking_code)) this.arrivals.set(booking_code, performance.now());
    return true;
  }
}

class Bench {
  constructor(
    private readonly partners: Partners,
    private readonly service: ServiceProcess,
    private readonly client: pg.Client,
    private readonly account: string,
    private readonly token: string,
  ) {}

  /**
   * Measures the p95 delay, in milliseconds, of notifications to the partner without a rate limit, while nothing else
   * is sent.
   */
  async quiet(seconds: number): Promise<number> {
    await this.client.query('DELETE FROM subscriptions');
    await this.subscribe(this.account, 'other');
    return this.otherP95(pause(seconds * 1000));
  }

  async paced(rates: readonly number[], seconds: number, quietMs: number): Promise<void> {
    const { account_code: paced } = await this.call('POST', '/admin/accounts', { name: 'Paced' });
    const id = await this.subscribe(paced, 'paced', 'SUSPENDED');
    const backlog = Math.ceil(1.2 * seconds * rates.reduce((sum, rate) => sum + rate, 0)) + 100;
    await seedNotifications(this.client, paced, [id], backlog);
    await this.call('POST', `/admin/subscriptions/${id}/resume`, {});
    const p95 = await this.otherP95(this.inTurn(rates, seconds));
    const { rows } = await this.client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM notifications WHERE subscription_id = $1 AND retry = 'MANUAL'`,
      [id],
    );
    line(`left to an operator: ${rows[0].n}`, rows[0].n === 0);
    line(
      `the other partner: p95 ${p95.toFixed(1)} ms, ${(p95 / quietMs).toFixed(2)} of quiet`,
      p95 <= DELAYED * quietMs,
    );
    await this.client.query('DELETE FROM subscriptions WHERE id = $1', [id]);
  }

  private async inTurn(rates: readonly number[], seconds: number): Promise<void> {
    for (const rate of rates) {
      this.partners.allowed = rate;
      this.partners.counts = { taken: 0, refused: 0 };
      await pause(seconds * 1000);
      const { taken, refused } = this.partners.counts;
      const used = taken / (rate * seconds);
      const share = refused / Math.max(1, taken + refused);
      line(
        `${String(rate).padStart(5)} a second: ${used.toFixed(2)} used, ${share.toFixed(3)} of the answers a 429`,
        used >= USED && share <= REFUSED,
      );
    }
  }

  /**
   * Makes bookings at a steady rate until `meanwhile` settles. Returns the p95 delay from a booking to the arrival of
   * its notification at the partner without a rate limit.
   */
  private async otherP95(meanwhile: Promise<void>): Promise<number> {
    let isOver = false;
    const over = meanwhile.finally(() => (isOver = true));
    const booked = new Map<string, number>();
    while (!isOver) {
      const { code, at } = await this.book();
      booked.set(code, at);
      await pause(1000 / BOOKINGS_A_SECOND);
    }
    await over;
    const giveUpAt = performance.now() + ARRIVE_MS;
    const missing = () => [...booked.keys()].filter((code) => !this.partners.arrivals.has(code)).length;
    while (missing() > 0 && performance.now() < giveUpAt) await pause(20);
    if (missing() > 0) throw new Error(`${missing()} notifications of the other partner did not arrive.`);
    const delays = [...booked].map(([code, at]) => this.partners.arrivals.get(code)! - at);
    return quantile(Float64Array.from(delays).sort(), 0.95);
  }

  private async book(): Promise<{ code: string; at: number }> {
    const path = `/accounts/${this.account}/candidates`;
    const candidate_id = randomUUID();
    await this.call('POST', path, {
      test_code: TEST_CODE,
      candidate: { candidate_id, first_name: 'Ada', last_name: 'Lovelace' },
    });
    const at = performance.now();
    const { booking_code } = await this.call('POST', `${path}/${candidate_id}/tests/${TEST_CODE}/bookings`, {
      booking_on: '2030-01-01T09:00:00Z',
      delivery_mode: 'SVC_REMOTE_PROCTORED',
    });
    return { code: booking_code, at };
  }

  private async subscribe(account_code: string, name: 'paced' | 'other', state = 'ACTIVE'): Promise<string> {
    const { id } = await this.call('POST', '/admin/subscriptions', {
      account_code,
      partner_url: this.partners.url(name),
      ca_pem: this.partners.caPem,
    });
    await this.client.query(
      `UPDATE subscriptions SET state = $2, suspended_datetime = CASE $2 WHEN 'SUSPENDED' THEN now() END WHERE id = $1`,
      [id, state],
    );
    return id;
  }

  private call(method: string, path: string, body: object): Promise<Record<string, string>> {
    return callJson(this.service.baseUrl, this.token, method, path, body);
  }
}

function line(text: string, isMet: boolean): void {
  process.stdout.write(`${text.padEnd(70)}${isMet ? 'met' : 'missed'}\n`);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pace-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({ dataDir: folder, database: 'bench' });
  await migrate(server.url);
  const { account, token } = await prepare(server.url);
  const partners = await Partners.start();
  const env = {
    DATABASE_URL: server.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT_PER_MINUTE: '0',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
  const services: ServiceProcess[] = [];
  const client = new pg.Client({ connectionString: server.url });
  try {
    await client.connect();
    for (const processes of numbers(options.processes)) {
      while (services.length < processes) {
        const service = new ServiceProcess(join(folder, `service-${services.length}`), env);
        services.push(service);
        await service.start();
      }
      const bench = new Bench(partners, services[0], client, account, token);
      const quietMs = await bench.quiet(Number(options.quiet));
      process.stdout.write(
        `\n${processes} ${processes === 1 ? 'process' : 'processes'}; quiet: p95 ${quietMs.toFixed(1)} ms\n`,
      );
      await bench.paced(numbers(options.rates), Number(options.seconds), quietMs);
    }
  } finally {
    await client.end();
    for (const service of services) await service.kill('SIGTERM');
    partners.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

runCommand(main);
