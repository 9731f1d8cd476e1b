/**
 * Nothing is lost and nothing is made up, whatever crashes.
 *
 * Three processes of the service (two `api,delivery`, one `delivery`) share one PostgreSQL. Bookings are made, moved and
 * cancelled without a break, while the partner flaps between 200 and 500; in each round one process, or PostgreSQL, is
 * killed with SIGKILL at a random moment and started again. In the end everything must have settled:
 *
 *  - lost: a change that was acknowledged, or stands in the database, whose event the partner never accepted;
 *  - phantom: an event at the partner of a change that is not in the database;
 *  - gap: an event-sequence of a booking that is missing between others;
 *  - overtaken: an event of a booking that came before an earlier one was accepted, or while another was under way;
 *  - unexplained: a booking that was told in a way in which the model of the protocol (model/) cannot;
 *  - in flight twice: one event under way at the partner twice at the same moment;
 *  - duplicate: an event accepted more than once, which may happen only when something was killed in between.
 *
 * usage: npm run chaos [-- --rounds N]   (default 50; the exit code is 1 when anything but a duplicate after a kill is found)
 */
import 'reflect-metadata';
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { migrate } from '../src/platform/database/migrate.js';
import { startPartner, type Partner } from '../test/support/partner.js';
import { runCommand } from './command.js';
import { Ledger } from './chaos-ledger.js';
import { prepare, query, TEST_CODE } from './prepare.js';
import { ServiceProcess } from './service-process.js';

const WORKERS = 4;
const ROUND_MS = 2_500;
const SETTLE_MS = 120_000;
const DAY_MS = 86_400_000;

const dateTime = (ms: number) => new Date(ms).toISOString().slice(0, 19) + 'Z';

/** Makes, moves and cancels bookings, and remembers what was acknowledged. */
class Load {
  readonly acknowledged = new Map<string, number>();
  calls = 0;
  failures = 0;
  private running = true;
  private readonly workers: Promise<void>[];

  constructor(
    private readonly services: ServiceProcess[],
    private readonly account: string,
    private readonly token: string,
  ) {
    this.workers = Array.from({ length: WORKERS }, () => this.work());
  }

  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.workers);
  }

  private async work(): Promise<void> {
    while (this.running) {
      try {
        await this.oneBooking();
      } catch {
        this.failures += 1;
        await pause(50);
      }
    }
  }

  private async oneBooking(): Promise<void> {
    const candidate = `C-${randomUUID()}`;
    const { account } = this;
    await this.call('POST', `/accounts/${account}/candidates`, {
      test_code: TEST_CODE,
      eligibility_end_date: dateTime(Date.now() + 90 * DAY_MS),
      candidate: { candidate_id: candidate, first_name: 'Ada', last_name: 'Lovelace' },
    });
    const booking = { booking_on: dateTime(Date.now() + 7 * DAY_MS), delivery_mode: 'SVC_REMOTE_PROCTORED' };
    const path = `/accounts/${account}/candidates/${candidate}/tests/${TEST_CODE}/bookings`;
    const { booking_code: code } = (await this.call('POST', path, booking)) as { booking_code: string };
    this.acknowledged.set(code, 1);
    if (randomInt(2) === 0) {
      await this.call('PUT', `/accounts/${account}/bookings/${code}`, {
        ...booking,
        booking_on: dateTime(Date.now() + 8 * DAY_MS),
      });
      this.acknowledged.set(code, 2);
    }
    if (randomInt(3) === 0) {
      await this.call('DELETE', `/accounts/${account}/bookings/${code}`);
      this.acknowledged.set(code, this.acknowledged.get(code)! + 1);
    }
  }

  private async call(method: string, path: string, body?: object): Promise<unknown> {
    const service = this.services[randomInt(this.services.length)];
    const response = await fetch(service.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(5_000),
    });
    const text = await response.text();
    this.calls += 1;
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  }
}

async function subscribe(service: ServiceProcess, account: string, token: string, partner: Partner): Promise<void> {
  const post = async (path: string, body?: object) => {
    const response = await fetch(`${service.baseUrl}/admin/subscriptions${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const { id } = await post('', {
    account_code: account,
    partner_url: partner.url,
    ca_pem: partner.caPem,
    wait_ms: 2000,
    auto_retry_on: ['500', 'timeout', 'connection'],
  });
  await post(`/${id}/verify`);
}

function killPostgres(dataDir: string): void {
  const pid = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n', 1)[0]);
  process.kill(pid, 'SIGKILL');
}

async function main(): Promise<boolean> {
  const stops: (() => Promise<unknown>)[] = [];
  try {
    return await run(stops);
  } finally {
    for (const stop of stops.reverse()) await stop().catch(() => undefined);
  }
}

/** Whether all was well. What it starts it enters in `stops`. */
async function run(stops: (() => Promise<unknown>)[]): Promise<boolean> {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '50' } }, strict: false });
  const rounds = Number(values.rounds);
  const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
  chmodSync(folder, 0o755);
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'database');
  const database = await startEmbeddedPostgres({ dataDir, database: 'chaos' });
  stops.push(() => database.stop());
  await migrate(database.url);
  const { account, token } = await prepare(database.url);
  const secretsKey = randomBytes(32).toString('base64');
  const services = ['api,delivery', 'api,delivery', 'delivery'].map(
    (roles, index) =>
      new ServiceProcess(join(folder, `service-${index}`), {
        DATABASE_URL: database.url,
        SECRETS_KEY: secretsKey,
        ROLES: roles,
        HOST: '127.0.0.1',
        PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
        RATE_LIMIT_PER_MINUTE: '0',
        RETRY_SCHEDULE_S: '0.2,0.5,1',
      }),
  );
  for (const service of services) stops.push(() => service.kill('SIGTERM'));
  await Promise.all(services.map((service) => service.start()));
  const partner = await startPartner();
  stops.push(() => partner.stop());
  await subscribe(services[0], account, token, partner);
  const ledger = new Ledger();
  ledger.listenTo(partner);
  const load = new Load(services.slice(0, 2), account, token);
  let postgresKills = 0;

  for (let round = 1; round <= rounds; round++) {
    await pause(randomInt(ROUND_MS / 2));
    ledger.down = true;
    await pause(randomInt(ROUND_MS / 4));
    ledger.down = round % 2 === 0;
    ledger.killed();
    if (round % 3 === 0) {
      postgresKills += 1;
      killPostgres(dataDir);
      await query(database.url, 'SELECT 1');
    } else {
      await services[round % 2 === 0 ? 2 : randomInt(3)].kill('SIGKILL');
    }
    await Promise.all(services.filter((service) => !service.isRunning).map((service) => service.start()));
    ledger.down = false;
    process.stdout.write(
      `round ${round}/${rounds}: ${load.acknowledged.size} bookings, ${ledger.accepted.size} events accepted\n`,
    );
  }
  await load.stop();
  await settle(database.url);
  const bookings = ledger.unexplained();
  const verdict = await judge(database.url, load, ledger);
  process.stdout.write(
    [
      '',
      `rounds                  ${rounds} (${rounds - postgresKills} kills of the service, ${postgresKills} of PostgreSQL)`,
      `calls                   ${load.calls}, ${load.failures} failed in a crash`,
      `events committed        ${verdict.committed}`,
      `events accepted         ${ledger.accepted.size}; refused with 500: ${ledger.refused}`,
      `lost                    ${verdict.lost}`,
      `phantom                 ${verdict.phantom}`,
      `gaps                    ${verdict.gaps}`,
      `in flight twice         ${ledger.inFlightTwice}`,
      `overtaken               ${ledger.overtaken}`,
      `unexplained bookings    ${bookings.count}${bookings.first === null ? '' : `; ${bookings.first}`}`,
      `duplicates              ${verdict.duplicates}, of them without a kill in between: ${verdict.unexplained}`,
      '',
    ].join('\n'),
  );
  const wrong = [ledger.inFlightTwice, ledger.overtaken, bookings.count, verdict.unexplained];
  const bad = wrong.reduce((sum, count) => sum + count, verdict.lost + verdict.phantom + verdict.gaps);
  return bad === 0 && ledger.accepted.size > 0;
}

/** Until nothing is left to do: leases of the killed have lapsed, the partner is back. */
async function settle(url: string): Promise<void> {
  const giveUpAt = Date.now() + SETTLE_MS;
  while (Date.now() < giveUpAt) {
    const [row] = await query(
      url,
      `SELECT (SELECT count(*) FROM deliveries)::int + (SELECT count(*) FROM domain_events WHERE settled_at IS NULL)::int AS left`,
    );
    if (row['left'] === 0) return;
    await pause(250);
  }
}

async function judge(url: string, load: Load, ledger: Ledger) {
  const bookings = await query(url, 'SELECT booking_code, event_sequence FROM bookings');
  const committed = new Map(bookings.map((row) => [row['booking_code'] as string, row['event_sequence'] as number]));
  const sequences = new Map<string, Set<number>>();
  let [lost, phantom, gaps, duplicates, unexplained] = [0, 0, 0, 0, 0];
  for (const { booking, sequence, at } of ledger.accepted.values()) {
    if (sequence > (committed.get(booking) ?? 0)) phantom += 1;
    const seen = sequences.get(booking) ?? new Set();
    // Two notifications of one event: made up, too.
    if (seen.has(sequence)) phantom += 1;
    sequences.set(booking, seen.add(sequence));
    for (let i = 1; i < at.length; i++) {
      duplicates += 1;
      if (!ledger.wasKilledBetween(at[i - 1], at[i])) unexplained += 1;
    }
  }
  for (const [booking, acknowledged] of load.acknowledged) {
    if ((committed.get(booking) ?? 0) < acknowledged) lost += acknowledged - (committed.get(booking) ?? 0);
  }
  for (const [booking, last] of committed) {
    const seen = sequences.get(booking) ?? new Set<number>();
    for (let sequence = 1; sequence <= last; sequence++) if (!seen.has(sequence)) lost += 1;
    if (seen.size > 0 && Math.max(...seen) !== seen.size) gaps += 1;
  }
  return {
    committed: [...committed.values()].reduce((sum, n) => sum + n, 0),
    lost,
    phantom,
    gaps,
    duplicates,
    unexplained,
  };
}

runCommand(main);
