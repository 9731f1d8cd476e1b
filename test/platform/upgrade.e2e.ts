import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../../src/platform/database/build-index';
import { migrate } from '../../src/platform/database/migrate';
import { dataSourceOptions } from '../../src/schema';
import { startApp, type TestApp } from '../support/app';
import { cloneDatabase } from '../support/database';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { startPartner } from '../support/partner';
import { connected, fixtureOf, releases, restoreRelease, tableNames, type ReleaseFacts } from '../fixtures/dump';
import { leaveDatabase } from '../fixtures/fill';

/** The tables that always stay small. On these tables, a migration may build an index while it holds a lock. */
const SMALL = ['accounts', 'tests', 'users', 'applications', 'subscriptions', 'jobs', 'signing_keys', 'migrations'];

// A process of the last release could execute these SQL statements during the migrations. The test rolls each of them
// back, so that it can compare the rows afterwards.
const TRAFFIC = [
  `INSERT INTO eligibilities (svc_eligiblity_id, account_code, candidate_id, test_code, status, approval_pending,
     portion_codes, first_name, last_name, special_accommodations, additional_attributes, created_datetime, updated_datetime)
   SELECT 'ZZZZZZZZ', account_code, 'traffic', test_code, 'ELIGIBLE', false, '{}', 'A', 'B', '{}', '[]', now(), now()
   FROM tests LIMIT 1`,
  `INSERT INTO audit_log (actor, action, subject) VALUES ('traffic', 'eligibility.create', 'ZZZZZZZZ')`,
  `UPDATE eligibilities SET updated_datetime = now() WHERE svc_eligiblity_id = (SELECT max(svc_eligiblity_id) FROM eligibilities)`,
  `UPDATE bookings SET event_sequence = event_sequence + 1 WHERE booking_code = (SELECT max(booking_code) FROM bookings)`,
  `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
     effective_date, body, state)
   SELECT gen_random_uuid(), id, account_code, 'ABSENT', 'ZZZZZZZZZZ', 1, now(), '{}', 'PENDING' FROM subscriptions LIMIT 1`,
  `SELECT count(*) FROM result_revisions JOIN eligibilities USING (svc_eligiblity_id)`,
  `UPDATE unmatched_results SET code = code WHERE id = (SELECT id FROM unmatched_results LIMIT 1)`,
];

/** Builds a migration of the next release, which does not exist yet. */
function next(up: (runner: QueryRunner) => Promise<unknown>, transaction = true): new () => MigrationInterface {
  return class Next4102444800000 implements MigrationInterface {
    readonly transaction = transaction;
    readonly name = `Next${up.name}4102444800000`;
    up = async (runner: QueryRunner) => void (await up(runner));
    down = () => Promise.reject(new Error('Migrations go forward only.'));
  };
}

const folder = mkdtempSync(join(tmpdir(), 'upgrade-'));
const present = join(folder, 'present.json.gz');

beforeAll(() => leaveDatabase(present, 120, 12), 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** Restores a release's database, runs the migrations during traffic, and records the effects of the migrations. */
class Upgrade {
  readonly refused: unknown[] = [];
  rounds = 0;
  before: Map<string, string>;
  after: Map<string, string>;
  rewritten: string[];
  locking: string[];

  private constructor(
    readonly database: Awaited<ReturnType<typeof cloneDatabase>>,
    readonly facts: ReleaseFacts,
  ) {}

  static async of(file: string, planted: (new () => MigrationInterface)[] = []): Promise<Upgrade> {
    const database = await cloneDatabase({ migrated: false });
    const upgrade = new Upgrade(database, await restoreRelease(database.url, file));
    const migrations = dataSourceOptions(database.url).migrations as unknown[];
    migrations.push(...planted);
    try {
      await upgrade.run();
    } finally {
      migrations.splice(migrations.length - planted.length);
    }
    return upgrade;
  }

  private async run(): Promise<void> {
    const { url } = this.database;
    this.before = await rowsOf(url);
    const files = await filesOf(url);
    let migrated = false;
    const traffic = connected(url, async (client) => {
      // Runs at least one round of the statements before the migrations, and one round after the migrations.
      for (let last = false; !last;) {
        last = migrated;
        await client.query('BEGIN');
        for (const statement of TRAFFIC) {
          await client.query('SAVEPOINT each');
          await client.query(statement).catch(async (error: unknown) => {
            this.refused.push(error);
            await client.query('ROLLBACK TO each');
          });
        }
        await client.query('ROLLBACK');
        this.rounds += 1;
      }
    });
    try {
      await eventually(() => expect(this.rounds).toBeGreaterThan(0));
      this.locking = await recorded(() => migrate(url));
    } finally {
      migrated = true;
      await traffic;
    }
    this.after = await rowsOf(url);
    const now = await filesOf(url);
    this.rewritten = [...files].flatMap(([name, file]) =>
      SMALL.includes(name) || now.get(name) === file ? [] : [name],
    );
  }

  /**
   * Returns the tables in which the migrations changed the number of rows, or a value in a column that existed before.
   */
  changed(): string[] {
    return [...this.before].flatMap(([name, text]) => {
      const rows = JSON.parse(text) as Record<string, unknown>[];
      const found = JSON.parse(this.after.get(name) ?? '[]') as Record<string, unknown>[];
      const same = found.map((row, index) =>
        Object.fromEntries(Object.keys(rows[index] ?? {}).map((key) => [key, row[key]])),
      );
      return JSON.stringify(same) === JSON.stringify(rows) ? [] : [name];
    });
  }
}

/**
 * Examples of schema changes that the next release may make. The next release does not exist yet, so the test makes
 * these changes to a database of this release.
 */
const GOOD = [
  next(async function Columns(runner) {
    await runner.query(`ALTER TABLE eligibilities ADD COLUMN planted text`);
    await runner.query(`ALTER TABLE bookings ADD COLUMN planted int NOT NULL DEFAULT 0`);
  }),
  next(async function Index(runner) {
    await buildIndex(runner, 'bookings_planted_ix', 'ON bookings (account_code, status)');
  }, false),
];

describe.each([
  ...releases().map((release) => [release, fixtureOf(release), [], 1000] as const),
  ['this release, with the next one', present, GOOD, 100] as const,
])('the upgrade of a database of %s', (_release, file, planted, records) => {
  let upgrade: Upgrade;
  let facts: ReleaseFacts;

  beforeAll(async () => {
    upgrade = await Upgrade.of(file, [...planted]);
    facts = upgrade.facts;
  }, 60_000);
  afterAll(() => upgrade.database.drop());

  it('the database of the earlier release has rows in every table before the upgrade', () => {
    // Some tables of the earlier release may be empty, because their rows are short-lived or exist only if the service
    // has an identity provider.
    const mayBeEmpty = [
      'login_attempts',
      'token_request_counts',
      'token_refusals',
      'refresh_tokens',
      'operator_identities',
      'finished_sign_ins',
      'poll_offers',
      'digest_buckets',
    ];
    const empty = [...upgrade.before].filter(([name, rows]) => rows === '[]' && !mayBeEmpty.includes(name));
    expect(empty.map(([name]) => name)).toEqual([]);
    expect(JSON.parse(upgrade.before.get('eligibilities')!).length).toBeGreaterThan(records);
  });

  it('the migrations of an upgrade keep every row and every value', () => {
    expect(upgrade.changed()).toEqual([]);
  });

  it('during the migrations of an upgrade, the database accepts every statement that the earlier release sends', () => {
    expect(upgrade.refused).toEqual([]);
    expect(upgrade.rounds).toBeGreaterThan(1);
  });

  it('the migrations of an upgrade rewrite no table, and build indexes without a lock', () => {
    expect(upgrade.rewritten).toEqual([]);
    expect(upgrade.locking).toEqual([]);
  });

  describe('after the upgrade', () => {
    let app: TestApp;

    beforeAll(async () => {
      await connected(upgrade.database.url, async (client) => {
        await client.query(`UPDATE access_tokens SET expires_at = now() + interval '1 hour'`);
        await client.query(`UPDATE token_families SET expires_at = now() + interval '1 day'`);
      });
      app = await startApp({ databaseUrl: upgrade.database.url, env: { SECRETS_KEY: facts.secrets_key } });
    });
    afterAll(() => app.close());

    const get = (path: string, token = facts.client_token) => app.call('GET', path, { token });
    const testOf = (kind: string) =>
      `/accounts/${facts.account}/candidates/${facts.records[kind].candidate_id}/tests/${facts.test_code}`;

    it.each([
      ['pending', 'PENDING'],
      ['held', 'PENDING'],
      ['booked', 'SCHEDULED'],
      ['booking cancelled', 'ELIGIBLE'],
      ['absent', 'ABSENT'],
      ['excused', 'ELIGIBLE'],
      ['completed by registration', 'COMPLETED'],
      ['completed by account', 'COMPLETED'],
      ['over', 'EXPIRED'],
      ['cancelled', 'CANCELLED'],
      ['launched', 'ELIGIBLE'],
    ])('after an upgrade, a record of the earlier release (%s) has the status %s', async (kind, status) => {
      const answer = await get(testOf(kind));
      expect([answer.status, answer.body[0].status]).toEqual([200, status]);
      expect(answer.body[0].svc_eligiblity_id).toBe(facts.records[kind].svc_eligiblity_id);
    });

    it('after an upgrade, a replaced record of the earlier release is EXPIRED, and its successor is ELIGIBLE', async () => {
      const { body } = await get(testOf('replaced'));
      expect(body.map((record: { status: string }) => record.status)).toEqual(['ELIGIBLE', 'EXPIRED']);
    });

    it('after an upgrade, a record of the earlier release can be updated, and a booking can be cancelled', async () => {
      const path = testOf('launched');
      const [record] = (await get(path)).body as Record<string, any>[];
      const token = facts.client_token;
      const changed = { ...record, candidate: { ...record['candidate'], city: 'Oslo' } };
      expect((await app.call('PUT', path, { token, body: changed })).status).toBe(204);
      expect((await get(path)).body[0].candidate.city).toBe('Oslo');
      const code = facts.records['booked'].booking_code;
      expect((await app.call('DELETE', `/accounts/${facts.account}/bookings/${code}`, { token })).status).toBe(204);
      expect((await get(testOf('booked'))).body[0].status).toBe('ELIGIBLE');
    });

    it('after an upgrade, the service returns results of the earlier release with their photos and video links', async () => {
      const { body } = await get(`${testOf('completed by registration')}/results`);
      expect(body.map((result: { revision: number }) => result.revision)).toEqual([2, 1]);
      expect(body[0].body.userPhotoBase64String).toMatch(/^[A-Za-z0-9+/]{64}$/);
      expect(body[0].body.videoReviewLink).toMatch(/^https:\/\/video\.example\//);
    });

    it('a new result for an exam that was completed under the earlier release is stored as a further revision', async () => {
      const { booking_code, svc_eligiblity_id } = facts.records['completed by registration'];
      const deliveries = new Deliveries(app);
      const body = registrationBody({ examMetaData: { examCode: booking_code }, marker: 'after the upgrade' });
      expect((await deliveries.register(facts.client_token, body)).status).toBe(200);
      expect(await deliveries.revisions(svc_eligiblity_id)).toHaveLength(3);
    });

    it('after an upgrade, a notification in the error queue of the earlier release is resent with the same JSON body', async () => {
      const partner = await startPartner();
      const token = facts.operator_token;
      const subscription = `/admin/subscriptions/${facts.subscription_id}`;
      await app.call('PATCH', subscription, { token, body: { partner_url: partner.url, ca_pem: partner.caPem } });
      expect((await app.call('POST', `${subscription}/verify`, { token })).status).toBe(200);
      const [queued] = (await get('/admin/error-queue?retry=MANUAL', token)).body as Record<string, any>[];
      const { body } = (await get(`/admin/notifications/${queued['id']}`, token)).body;
      const answer = await app.call('POST', `/admin/error-queue/${queued['id']}/resend`, { token, body: {} });
      expect(answer.status).toBe(202);
      const request = await eventually(() => {
        const found = partner.requests.find(({ headers }) => headers['webhook-id'] === queued['id']);
        if (!found) throw new Error('not yet');
        return found;
      });
      expect(request.json).toEqual(body);
      expect(request.headers['authorization']).toBe(`Basic ${btoa('svc:a partner secret')}`);
      await partner.stop();
    });
  });
});

describe('a migration of the next release', () => {
  async function found(up: (runner: QueryRunner) => Promise<unknown>): Promise<Upgrade> {
    const upgrade = await Upgrade.of(present, [next(up)]);
    await upgrade.database.drop();
    return upgrade;
  }

  it('the migration check reports a migration that rewrites a large table', async () => {
    const { rewritten } = await found((runner) =>
      runner.query('ALTER TABLE bookings ALTER COLUMN event_sequence TYPE bigint'),
    );
    expect(rewritten).toEqual(['bookings']);
  });

  it('the migration check reports a migration that builds an index under a lock', async () => {
    const { locking } = await found((runner) => runner.query('CREATE INDEX planted_ix ON bookings (status)'));
    expect(locking).toEqual(['CREATE INDEX planted_ix ON bookings']);
  });

  it('the migration check reports a migration that makes statements of this release fail', async () => {
    const { refused } = await found(async (runner) => {
      await runner.query(`ALTER TABLE audit_log ADD COLUMN planted text NOT NULL DEFAULT ''`);
      await runner.query('ALTER TABLE audit_log ALTER COLUMN planted DROP DEFAULT');
    });
    expect(refused).toContainEqual(expect.objectContaining({ code: '23502', table: 'audit_log' }));
  });

  it('the migration check reports a migration that changes a value or loses rows', async () => {
    const upgrade = await found(async (runner) => {
      await runner.query(`UPDATE eligibilities SET city = 'Oslo' WHERE status = 'PENDING'`);
      await runner.query('DELETE FROM notification_attempts');
    });
    expect(upgrade.changed()).toEqual(['eligibilities', 'notification_attempts']);
  });
});

describe('a role without rights', () => {
  it('if the database role lacks rights, the start fails with one line that names the setting and the fix', async () => {
    const database = await cloneDatabase({ migrated: false });
    const role = `poor_${Date.now()}`;
    await connected(database.url, async (client) => {
      await client.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
      await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'poor'`);
    });
    const url = new URL(database.url);
    url.username = role;
    url.password = 'poor';
    await expect(migrate(url.href)).rejects.toMatchObject({
      faults: [expect.stringMatching(/^DATABASE_URL [^\n]*CREATE on the schema\.$/)],
    });
    await database.drop();
    await connected(database.url.replace(/[^/]+$/, 'postgres'), (client) => client.query(`DROP ROLE ${role}`));
  });
});

/** Returns the rows of each table of the database, sorted. */
function rowsOf(url: string): Promise<Map<string, string>> {
  return connected(url, async (client) => {
    const rows = new Map<string, string>();
    for (const name of await tableNames(client)) {
      if (name === 'migrations') continue;
      const order = await client.query<{ key: string }>(
        `SELECT coalesce(string_agg(quote_ident(attname), ', ' ORDER BY ordinal), '') AS key
         FROM pg_index, unnest(indkey::int2[]) WITH ORDINALITY AS k (attnum, ordinal) JOIN pg_attribute USING (attnum)
         WHERE indrelid = $1::regclass AND attrelid = indrelid AND indisprimary`,
        [name],
      );
      const key = order.rows[0].key || 't::text';
      const answer = await client.query<{ rows: string }>(
        `SELECT coalesce(json_agg(to_json(t) ORDER BY ${key}), '[]')::text AS rows FROM "${name}" t`,
      );
      rows.set(name, answer.rows[0].rows);
    }
    return rows;
  });
}

/**
 * Returns the name of the file in which PostgreSQL stores each table. A changed name means that every row of the table
 * was rewritten.
 */
function filesOf(url: string): Promise<Map<string, string>> {
  return connected(url, async (client) => {
    const { rows } = await client.query<{ name: string; file: string }>(
      `SELECT relname AS name, relfilenode::text AS file FROM pg_class
       WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    return new Map(rows.map(({ name, file }) => [name, file]));
  });
}

/**
 * Runs the work. Returns the SQL statements that built an index under a lock on an existing table that may be large.
 */
async function recorded(work: () => Promise<void>): Promise<string[]> {
  const statements: string[] = [];
  const made = new Set<string>();
  // eslint-disable-next-line @typescript-eslint/unbound-method -- the method is called with its own client as `this`
  const query = pg.Client.prototype.query;
  const spy = jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: any[]) {
    statements.push(typeof args[0] === 'string' ? args[0] : (args[0].text as string));
    return query.apply(this, args as never);
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  for (const statement of statements)
    for (const [, table] of statement.matchAll(/CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?"?(\w+)/gi))
      made.add(table);
  return statements
    .flatMap((statement) => [
      ...statement.matchAll(
        /CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)\S+ ON "?(\w+)|ALTER TABLE "?(\w+)"? ADD .*\b(?:UNIQUE|PRIMARY KEY)\b/gi,
      ),
    ])
    .filter(([, indexed, altered]) => ![...SMALL, ...made].includes(indexed ?? altered))
    .map(([statement]) => statement);
}
