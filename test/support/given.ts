import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { CLIENT_SCOPES, SCOPES, type Scope } from '../../src/platform/context/caller';
import { randomCode, randomToken, sha256 } from '../../src/platform/secrets';
import type { Database } from '../../src/platform/database/database';
import type { Answer } from './openapi-check';

export interface TestSetup {
  test_code: string;
  exam_code?: string | null;
  launch_url?: string | null;
  portions?: { portion_code: string; portion_name: string | null }[];
}

const DAY_MS = 86_400_000;

/** The parts of the application that {@link Given} uses. */
interface RunningApp {
  readonly database: Database;
  readonly databaseUrl: string;
  call(method: string, path: string, options: { token?: string; body?: unknown }): Promise<Answer>;
}

/**
 * Creates the data that a test starts with. The catalogue, users and tokens are written directly to the database, and
 * eligibility records are created over HTTP.
 */
export class Given {
  private count = 0;

  constructor(private readonly app: RunningApp) {}

  unique(prefix: string): string {
    return `${prefix}${++this.count}${randomBytes(3).toString('hex')}`;
  }

  async account(): Promise<string> {
    const code = randomCode(12);
    await this.sql('INSERT INTO accounts (account_code, name) VALUES ($1, $2)', [code, `Board ${code}`]);
    return code;
  }

  async test(account: string, setup: Partial<TestSetup> = {}): Promise<string> {
    const testCode = setup.test_code ?? this.unique('T-');
    await this.sql(
      'INSERT INTO tests (account_code, test_code, name, exam_code, launch_url) VALUES ($1, $2, $3, $4, $5)',
      [
        account,
        testCode,
        `Test ${testCode}`,
        setup.exam_code === undefined ? `EX-${testCode}` : setup.exam_code,
        setup.launch_url === undefined ? 'https://driver.example/start?lang=en' : setup.launch_url,
      ],
    );
    const portions = setup.portions ?? [{ portion_code: 'MAIN', portion_name: 'Main' }];
    for (const [ordinal, portion] of portions.entries())
      await this.sql('INSERT INTO test_portions VALUES ($1, $2, $3, $4, $5)', [
        account,
        testCode,
        portion.portion_code,
        portion.portion_name,
        ordinal,
      ]);
    return testCode;
  }

  /**
   * Writes the given number of records to the database. `values` maps columns to SQL expressions. In the expressions,
   * `n` is the number of the record, counted from 1.
   */
  async records(
    count: number,
    { account, testCode }: { account: string; testCode: string },
    values: Record<string, string> = {},
  ): Promise<void> {
    const row = {
      svc_eligiblity_id: `translate(lpad(to_hex(n), 8, 'z'), '0123456789abcdefz', 'ABCDEFGHJKMNPQRSZ')`,
      account_code: '$1',
      test_code: '$2',
      candidate_id: `'bulk-' || n`,
      status: `'ELIGIBLE'`,
      approval_pending: 'false',
      portion_codes: `'{}'`,
      first_name: `'Bulk'`,
      last_name: `'Bulkson'`,
      special_accommodations: `'{}'`,
      additional_attributes: `'[]'`,
      created_datetime: 'now()',
      updated_datetime: 'now()',
      ...values,
    };
    await this.slowSql(
      `INSERT INTO eligibilities (${Object.keys(row).join()})
       SELECT ${Object.values(row).join()} FROM generate_series(1, ${count}) n`,
      [account, testCode],
    );
  }

  /**
   * Counts the rows that PostgreSQL reads from the tables of eligibility records and their search keys while `work`
   * runs.
   */
  async recordsRead(work: () => Promise<unknown>): Promise<number> {
    const read = async () => {
      // The pause is needed because a connection reports its reads only after it has been idle for a second.
      await pause(1500);
      const [row] = await this.sql(
        `SELECT sum(seq_tup_read + idx_tup_fetch) AS n FROM pg_stat_user_tables
         WHERE relname IN ('eligibilities', 'eligibility_search_keys')`,
      );
      return Number(row['n']);
    };
    const before = await read();
    await work();
    return (await read()) - before;
  }

  async school(account: string, code = this.unique('S')): Promise<string> {
    await this.sql('INSERT INTO schools (account_code, school_code, name) VALUES ($1, $2, $2)', [account, code]);
    return code;
  }

  async accommodation(account: string, requiresApproval: boolean, code = this.unique('A')): Promise<string> {
    await this.sql(
      'INSERT INTO accommodations (account_code, accommodation_code, name, requires_approval) VALUES ($1, $2, $2, $3)',
      [account, code, requiresApproval],
    );
    return code;
  }

  async attributeKey(account: string, key = this.unique('k')): Promise<string> {
    await this.sql('INSERT INTO attribute_keys (account_code, attribute_key, name) VALUES ($1, $2, $2)', [
      account,
      key,
    ]);
    return key;
  }

  async voucher(
    account: string,
    setup: {
      code?: string;
      max_uses?: number;
      valid_from?: Date;
      valid_until?: Date;
      test_codes?: string[];
      disabled?: boolean;
    } = {},
  ): Promise<string> {
    const code = setup.code ?? this.unique('V');
    await this.sql(
      `INSERT INTO vouchers (account_code, voucher_code, discount_type, discount_value, test_codes, valid_from, valid_until, max_uses, disabled)
       VALUES ($1, $2, 'PERCENT', 10, $3, $4, $5, $6, $7)`,
      [
        account,
        code,
        setup.test_codes ?? null,
        setup.valid_from ?? null,
        setup.valid_until ?? null,
        setup.max_uses ?? 1,
        setup.disabled ?? false,
      ],
    );
    return code;
  }

  /** Returns a valid access token for a new application and a new user who has access to the accounts. */
  async token(
    accounts: string[],
    scopes: readonly Scope[] = CLIENT_SCOPES,
    subscriptionIds: readonly string[] = [],
  ): Promise<string> {
    const username = this.unique('user-');
    const consumerKey = randomCode(20);
    const family = randomUUID();
    const token = randomToken();
    await this.sql(
      `INSERT INTO users (username, password_hash, scopes, subscription_ids)
       VALUES ($1, '$argon2id$not-a-password', $2, $3)`,
      [username, scopes, subscriptionIds],
    );
    for (const account of accounts) await this.sql('INSERT INTO user_accounts VALUES ($1, $2)', [username, account]);
    await this.sql(
      `INSERT INTO applications (consumer_key, name, secret_hash, scopes, grants) VALUES ($1, 'test', $2, $3, '{password,refresh_token}')`,
      [consumerKey, randomBytes(32), scopes],
    );
    await this.sql(
      `INSERT INTO token_families (family_id, consumer_key, username, scopes, expires_at) VALUES ($1, $2, $3, $4, now() + interval '1 day')`,
      [family, consumerKey, username, scopes],
    );
    await this.sql(
      `INSERT INTO access_tokens (token_hash, family_id, scopes, expires_at) VALUES ($1, $2, $3, now() + interval '1 hour')`,
      [sha256(token), family, scopes],
    );
    return token;
  }

  /** Returns an operator's token. */
  operator(): Promise<string> {
    return this.token([], SCOPES);
  }

  /** Returns the token of an operator who did not sign in with a password. */
  async operatorOfProvider(): Promise<string> {
    const token = await this.token([], SCOPES);
    await this.sql(
      `UPDATE token_families SET by_password = false
       WHERE family_id = (SELECT family_id FROM access_tokens WHERE token_hash = $1)`,
      [sha256(token)],
    );
    return token;
  }

  /** Returns a valid request body for creating a record, with the given changes. */
  eligibilityBody(
    testCode: string,
    changes: { candidate?: object } & Record<string, unknown> = {},
  ): Record<string, any> {
    const { candidate, ...rest } = changes;
    return {
      test_code: testCode,
      eligibility_end_date: dateTime(Date.now() + 90 * DAY_MS),
      candidate: {
        candidate_id: this.unique('C-'),
        first_name: 'Ada',
        last_name: 'Lovelace',
        email: 'ada@example.org',
        country: 'US',
        province_state: 'NY',
        ...candidate,
      },
      ...rest,
    };
  }

  /** Creates an account with a test and a client's token, which most tests need. */
  async scene(setup: Partial<TestSetup> = {}) {
    const account = await this.account();
    const testCode = await this.test(account, setup);
    const token = await this.token([account]);
    return { account, testCode, token };
  }

  async eligibility(
    scene: { account: string; testCode: string; token: string },
    changes: Parameters<Given['eligibilityBody']>[1] = {},
  ): Promise<Record<string, any>> {
    const answer = await this.app.call('POST', `/accounts/${scene.account}/candidates`, {
      token: scene.token,
      body: this.eligibilityBody(scene.testCode, changes),
    });
    return ok(answer, 200);
  }

  async booking(
    scene: { account: string; testCode: string; token: string },
    eligibility: Record<string, any>,
    changes: Record<string, unknown> = {},
  ): Promise<Record<string, any>> {
    const answer = await this.app.call(
      'POST',
      `/accounts/${scene.account}/candidates/${eligibility['candidate'].candidate_id}/tests/${eligibility['test_code']}/bookings`,
      { token: scene.token, body: { ...siteBooking(), ...changes } },
    );
    return ok(answer, 201);
  }

  /** Runs a statement on a separate connection, and holds its locks. Returns the function that releases the locks. */
  async lock(text: string): Promise<() => Promise<void>> {
    const client = new pg.Client({ connectionString: this.app.databaseUrl });
    await client.connect();
    await client.query('BEGIN');
    await client.query(text);
    return () => client.end();
  }

  /**
   * Waits until all transactions have ended that are running now on the server. They may delay entries of the change
   * feed.
   */
  async settled(): Promise<void> {
    const [{ xmax }] = await this.sql('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xmax');
    const hasEnded = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS ended';
    while (!(await this.sql(hasEnded, [xmax]))[0]['ended']) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  sql(text: string, values: unknown[] = []): Promise<Record<string, any>[]> {
    return this.app.database.query({ text }, values);
  }

  /**
   * Runs a statement that may take many seconds, such as an insertion of thousands of rows, on a separate connection. The
   * service's connections have a statement timeout, which such a statement exceeds on a busy machine.
   */
  async slowSql(text: string, values: unknown[] = []): Promise<Record<string, any>[]> {
    const client = new pg.Client({ connectionString: this.app.databaseUrl });
    await client.connect();
    try {
      return (await client.query<Record<string, any>>(text, values)).rows;
    } finally {
      await client.end();
    }
  }
}

export function dateTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19) + 'Z';
}

export function siteBooking(): Record<string, unknown> {
  return {
    booking_on: dateTime(Date.now() + 7 * DAY_MS),
    delivery_mode: 'SITE_PROCTORED',
    location_code: 'TC-042',
    location_name: 'Springfield Test Center',
    location_address: '1 Main St, Springfield, IL',
    location_timezone: 'America/Chicago',
  };
}

function ok(answer: Answer, status: number): Record<string, any> {
  if (answer.status !== status) throw new Error(`Expected ${status}, got ${answer.status}: ${answer.text}`);
  return answer.body as Record<string, any>;
}
