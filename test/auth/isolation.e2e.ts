import pg from 'pg';
import { Snapshots } from '../../src/console/snapshot';
import { startApp, type TestApp } from '../support/app';
import { Isolation } from '../support/isolation';

/** Tests section 4 of the contract: nobody sees, counts, receives or changes data of another account. */
let app: TestApp;
let table: Isolation;

beforeAll(async () => {
  app = await startApp();
  table = new Isolation(app);
  await table.prepare();
}, 120_000);
afterAll(async () => {
  for (const side of [table.a, table.z]) await side?.subscribed.stop();
  await app.close();
});

const operation = (name: string) => {
  const found = table.operations.find((one) => one.name === name);
  if (!found) throw new Error(`The document has no ${name}.`);
  return found;
};

test('no operation of the OpenAPI document shows or changes data of another account', async () => {
  const faults: Record<string, string[]> = {};
  for (const one of table.operations) {
    const found = await table.faults(one);
    if (found.length > 0) faults[one.name] = found;
  }
  expect(faults).toEqual({});
}, 600_000);

let mutations = 0;

/** Runs the work while `text` is replaced with `by` in all SQL statements. */
async function mutated<T>(text: string, by: string, work: () => Promise<T>): Promise<T> {
  const prototype = pg.Client.prototype as unknown as { query: (this: unknown, ...given: any[]) => unknown };
  const { query } = prototype;
  let met = 0;
  const mutation = `mutated ${++mutations}`;
  prototype.query = function (config: any, ...rest: any[]) {
    const sent = typeof config === 'string' ? config : (config?.text as string | undefined);
    if (!sent?.includes(text)) return query.call(this, config, ...rest);
    met++;
    const changed = sent.replaceAll(text, by);
    if (typeof config === 'string') return query.call(this, changed, ...rest);
    // A mutated statement needs a new name in each run, because prepared statements are cached by name.
    const name = config.name === undefined ? {} : { name: `${String(config.name)} ${mutation}`.slice(-60) };
    return query.call(
      this,
      Object.assign(Object.create(config as object) as object, config, { text: changed, ...name }),
      ...rest,
    );
  };
  try {
    return await work();
  } finally {
    prototype.query = query;
    expect([text, met > 0]).toEqual([text, true]);
  }
}

const ANY_ACCOUNT = 'OR account_code = ANY ($2))';
/**
 * The mutations. Each has a title, the text of a SQL condition on the account, the text that replaces the condition,
 * and the operation whose response shows the effect.
 */
const MUTANTS: [what: string, text: string, by: string, where: string][] = [
  [
    'a list of partners',
    '($1::text[] IS NULL OR account_code = ANY ($1)) AND ',
    '($1::text[] IS NULL OR true) AND ',
    'GET /admin/partners',
  ],
  [
    'a list of imports',
    'eligibility_imports\n   WHERE ($1::text[] IS NULL OR account_code = ANY ($1))',
    'eligibility_imports\n   WHERE ($1::text[] IS NULL OR true)',
    'GET /admin/imports',
  ],
  [
    'a count of causes',
    'AND ($1::text[] IS NULL OR s.account_code = ANY ($1))',
    'AND ($1::text[] IS NULL OR true)',
    'GET /admin/error-queue/summary',
  ],
  ['a list of jobs', 'j.account_code = ANY ($2)', 'true', 'GET /admin/jobs'],
  [
    'a job by its id',
    'WHERE j.id = $1 AND ($2::text[] IS NULL OR j.account_code = ANY ($2)',
    'WHERE j.id = $1 AND ($2::text[] IS NULL OR true',
    'POST /admin/jobs/{job_id}/abort',
  ],
  [
    'the items of a job',
    'WHERE job_id = $1 AND notification_position > $2',
    'WHERE $1::uuid IS NOT NULL AND notification_position > $2',
    'GET /admin/jobs/{job_id}/items',
  ],
  [
    'a notification by its id',
    'WHERE n.id = $1 AND ($2::text[] IS NULL OR n.account_code = ANY ($2))',
    'WHERE n.id = $1 AND ($2::text[] IS NULL OR true)',
    'GET /admin/notifications/{id}',
  ],
  [
    'a resolve',
    'OR n.account_code = ANY ($2)) FOR UPDATE OF n',
    'OR true) FOR UPDATE OF n',
    'POST /admin/error-queue/{notification_id}/resolve',
  ],
  ['the error queue', 'n.account_code = ANY ($', 'true OR n.account_code = ANY ($', 'GET /admin/error-queue'],
  ['a list of unmatched results', 'OR staff_account_codes && $3', 'OR true', 'GET /admin/unmatched-results'],
  ['an unmatched result by its id', 'OR staff_account_codes && $2)', 'OR true)', 'GET /admin/unmatched-results/{id}'],
  [
    'a reject',
    'OR staff_account_codes && $2) FOR UPDATE',
    'OR true) FOR UPDATE',
    'POST /admin/unmatched-results/{id}/reject',
  ],
  [
    'a record by its id',
    `SELECT * FROM eligibilities\n   WHERE svc_eligiblity_id = $1 AND ($2::text[] IS NULL ${ANY_ACCOUNT}`,
    'SELECT * FROM eligibilities\n   WHERE svc_eligiblity_id = $1 AND ($2::text[] IS NULL OR true)',
    'GET /admin/eligibilities/{svc_id}',
  ],
  [
    'a hold',
    'OR e.account_code = ANY ($2)) FOR UPDATE OF e',
    'OR true) FOR UPDATE OF e',
    'POST /admin/eligibilities/{svc_id}/hold',
  ],
  ['an accepted exam', `${ANY_ACCOUNT} FOR UPDATE`, 'OR true) FOR UPDATE', 'POST /admin/unmatched-results/{id}/accept'],
  [
    'a photo',
    'OR eligibilities.account_code = ANY ($3))',
    'OR true)',
    'GET /admin/eligibilities/{svc_id}/results/{revision}',
  ],
  [
    'a notification of a partner by its id',
    'AND ($3::uuid[] IS NULL OR n.subscription_id = ANY ($3))',
    'AND ($3::uuid[] IS NULL OR true)',
    'GET /partner/notifications/{id}',
  ],
  [
    'a resend of a partner',
    'AND ($3::uuid[] IS NULL OR n.subscription_id = ANY ($3))\n     AND ($2',
    'AND ($3::uuid[] IS NULL OR true)\n     AND ($2',
    'POST /partner/notifications/{id}/resend',
  ],
  [
    'the notifications of a partner',
    'n.subscription_id = ANY ($',
    'true OR n.subscription_id = ANY ($',
    'GET /partner/notifications',
  ],
  [
    'a job of a partner',
    `OR j.filter->'subscription_ids' <> '[]' AND j.filter->'subscription_ids' <@ to_jsonb($3::text[])`,
    'OR true',
    'GET /partner/jobs/{job_id}',
  ],
  ['the audit log', '"account_code" = ANY (', '"account_code" <> ALL (', 'GET /admin/audit'],
  [
    'a booking by its code',
    'FROM bookings WHERE booking_code = $1 AND account_code = $2',
    'FROM bookings WHERE booking_code = $1 AND $2::text IS NOT NULL',
    'GET /accounts/{account_code}/bookings/{booking_code}',
  ],
  ['a search', 'WHERE account_code = mine.account', 'WHERE mine.account IS NOT NULL', 'GET /admin/candidates'],
  [
    'an export',
    'SELECT * FROM eligibilities WHERE account_code = $1 AND',
    'SELECT * FROM eligibilities WHERE $1::text IS NOT NULL AND',
    'GET /accounts/{account_code}/eligibilities.csv',
  ],
  [
    'the report of an import',
    'WHERE import_id = $1 AND account_code = $2',
    'WHERE import_id = $1 AND $2::text IS NOT NULL',
    'GET /accounts/{account_code}/eligibility-imports/{import_id}/report',
  ],
];

describe('the isolation test', () => {
  test.each(MUTANTS)(
    'the isolation test detects a leak when a query is no longer limited to the account: %s',
    async (_what, text, by, where) => {
      const faults = await mutated(text, by, () => table.faults(operation(where)));
      expect(faults).not.toEqual([]);
      // An internal error would mean that the mutated statement failed instead of revealing data.
      expect(faults.join(' ')).not.toContain('internal_error');
      expect(await table.faults(operation(where))).toEqual([]);
    },
    30_000,
  );

  test.each([
    ['counts items', 'of', 'GET /admin/overview'],
    ['reports changes', 'read', 'GET /admin/events'],
  ] as const)(
    'the isolation test detects a leak when a snapshot for the console %s across accounts',
    async (_what, method, where) => {
      const given = jest.spyOn(Snapshots.prototype, method).mockImplementation(async function (this: Snapshots) {
        const across = await (this as unknown as { acrossAccounts(): Promise<any> }).acrossAccounts();
        return method === 'of' ? across : () => across;
      } as never);
      try {
        expect(await table.faults(operation(where))).not.toEqual([]);
      } finally {
        given.mockRestore();
      }
    },
    30_000,
  );
});
