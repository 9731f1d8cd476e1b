import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Database, unestimated, prepared } from '../platform/database/database.js';
import { afterCursor, MOST_TAKEN, type Page } from '../platform/http/paging.js';
import type { Eligibility } from './eligibility.entity.js';
import { ELIGIBILITY_STATUSES, OPEN, OPEN_STATUSES, type EligibilityStatus } from './eligibility.fields.js';

/** Asks for a page of an account's eligibility records. Clients compare the page with their own data. */
export class ListEligibilities extends Query<Eligibility[]> {
  constructor(
    readonly accountCode: string,
    /** The time for which the statuses of the records are determined. */
    readonly now: Date,
    readonly filter: {
      statuses: readonly EligibilityStatus[];
      testCode?: string;
      clientEligibilityId?: string;
      updatedSince?: Date;
    },
    readonly page: Page,
  ) {
    super();
  }
}

// `unestimated` hides the values of the parameters from the planner. Each connection therefore makes one plan, at the
// first execution, and uses it for all values.
const ACCOUNT = `account_code = ${unestimated('$1::text')}`;
const AFTER = afterCursor(unestimated('$2::bigint'));
const STATUSES = `ANY (${unestimated('$4::text[]')}::text[])`;
const NOW = unestimated('$5::timestamptz');
// Repeats the condition on the test code as a range. If nearly all records have the same test, the planner would expect
// nearly all records to match every test code. It would then choose an index without test codes. For a range with two
// bounds, the planner expects few rows.
const TEST_CODE = unestimated('$6::text');
const TEST = `test_code = ${TEST_CODE} AND test_code BETWEEN ${TEST_CODE} AND ${TEST_CODE}`;

/**
 * Selects a page of each status from the status's index, and then selects the final page from these pages. A status
 * without records therefore costs nothing. The part for each status has its own limit; otherwise, the planner would
 * sort all records of the account.
 */
const pageOfStatuses = (where: string): string => `
  SELECT * FROM (${ELIGIBILITY_STATUSES.map(
    (status) => `
    (SELECT * FROM eligibilities WHERE ${ACCOUNT} AND ${AFTER} AND ${where} AND status = '${status}' AND '${status}' = ${STATUSES}
       ${OPEN_STATUSES.includes(status) ? `AND (eligibility_end_date IS NULL OR eligibility_end_date > ${NOW})` : ''}
     ORDER BY position DESC LIMIT ${MOST_TAKEN})`,
  ).join(' UNION ALL ')}) AS page
  ORDER BY position DESC LIMIT $3`;

const OF_STATUSES = prepared('eligibility-list-of-statuses', pageOfStatuses('true'));
const OF_STATUSES_AND_TEST = prepared('eligibility-list-of-statuses-and-test', pageOfStatuses(TEST));
const OF_ACCOUNT = prepared(
  'eligibility-list',
  `SELECT * FROM (
     SELECT * FROM eligibilities WHERE ${ACCOUNT} AND ${AFTER} ORDER BY position DESC LIMIT ${MOST_TAKEN}) AS page
   ORDER BY position DESC LIMIT $3`,
);
// Selects the records that have expired but whose expiry is not yet stored. There are only a few such records, because
// the sweep stores an expiry within seconds. The planner can see the value of the current time (no `unestimated`), and
// therefore expects few rows.
const EXPIRED_UNNOTED = prepared(
  'eligibility-list-expired-unnoted',
  `SELECT * FROM eligibilities
   WHERE ${OPEN} AND eligibility_end_date <= $4 AND account_code = $1 AND ${afterCursor('$2')}
     AND ($5::text IS NULL OR test_code = $5)
   ORDER BY position DESC LIMIT $3`,
);

const MANY = 2000;
const STATUS_NOW = `CASE WHEN ${OPEN} AND eligibility_end_date <= ${NOW} THEN 'EXPIRED' ELSE status END`;
const IS_WANTED = `${AFTER} AND ${STATUS_NOW} = ${STATUSES} AND (${TEST_CODE} IS NULL OR test_code = ${TEST_CODE})`;
const SINCE = unestimated('$7::timestamptz');
const PAGE_KEYS = 'svc_eligiblity_id, position, status, eligibility_end_date, test_code';
// Selects the records that have changed since a given time. A record also changes when its end date passes, although no
// row is written. Both conditions on times have an upper and a lower bound. With only one bound, the planner would
// expect a third of the table to match, and would scan the table. The changed records are found and sorted by the
// columns of the sort key, and whole records are read only for the page. If too many records have changed for this
// plan, the result is a single row without a record, in which `are_many` is true.
const OF_CHANGED = prepared(
  'eligibility-of-changed',
  `WITH changed AS MATERIALIZED (
     SELECT * FROM (
       SELECT ${PAGE_KEYS} FROM eligibilities
       WHERE ${ACCOUNT} AND updated_datetime BETWEEN ${SINCE} AND ${unestimated("'infinity'::timestamptz")}
       UNION ALL
       SELECT ${PAGE_KEYS} FROM eligibilities
       WHERE ${ACCOUNT} AND ${OPEN} AND eligibility_end_date BETWEEN ${SINCE} AND ${NOW}
         AND updated_datetime < ${SINCE}) AS either
     LIMIT ${MANY + 1})
   SELECT record.*, are_many FROM (SELECT count(*) > ${MANY} AS are_many FROM changed) AS counted
   LEFT JOIN LATERAL (
     SELECT whole.* FROM (
       SELECT svc_eligiblity_id FROM changed WHERE NOT are_many AND ${IS_WANTED} ORDER BY position DESC LIMIT $3) AS page
     CROSS JOIN LATERAL (SELECT * FROM eligibilities whole WHERE whole.svc_eligiblity_id = page.svc_eligiblity_id LIMIT 1) AS whole
   ) AS record ON true
   ORDER BY position DESC`,
);
// Selects a page of changed records by scanning the account's records, newest first. The scan is used if so many
// records have changed that sorting them would be slow. In that case, the scan soon finds enough changed records to
// fill the page.
const OF_MANY_CHANGED = prepared(
  'eligibility-of-many-changed',
  `SELECT * FROM (SELECT * FROM eligibilities
   WHERE ${ACCOUNT} AND ${IS_WANTED}
     AND (updated_datetime >= ${SINCE}
          OR ${OPEN} AND eligibility_end_date BETWEEN ${SINCE} AND ${NOW})
   ORDER BY position DESC LIMIT ${MOST_TAKEN}) AS page ORDER BY position DESC LIMIT $3`,
);

// Compares the ids both exactly and regardless of case. The second condition lets the planner use the search index,
// which contains client_eligibility_id in lower case. The index includes cancelled records.
const OF_CLIENT_ID = prepared(
  'eligibility-list-of-client-id',
  `SELECT * FROM eligibilities WHERE ${ACCOUNT} AND case_folded(client_eligibility_id) = case_folded(${unestimated('$8::text')})
     AND client_eligibility_id = ${unestimated('$8::text')} AND ${IS_WANTED}
     AND (${SINCE} IS NULL OR updated_datetime >= ${SINCE} OR ${OPEN} AND eligibility_end_date BETWEEN ${SINCE} AND ${NOW})
   ORDER BY position DESC LIMIT $3`,
);

@QueryHandler(ListEligibilities)
export class ListEligibilitiesHandler implements IQueryHandler<ListEligibilities> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, now, filter, page }: ListEligibilities): Promise<Eligibility[]> {
    const { testCode = null, clientEligibilityId, updatedSince, statuses } = filter;
    const { after, take } = page;
    if (clientEligibilityId !== undefined) {
      const values = [accountCode, after, take, statuses, now, testCode, updatedSince ?? null, clientEligibilityId];
      return this.database.query<Eligibility>(OF_CLIENT_ID, values);
    }
    if (updatedSince) return this.changed([accountCode, after, take, statuses, now, testCode, updatedSince]);
    const isEvery = ELIGIBILITY_STATUSES.every((status) => statuses.includes(status));
    if (isEvery && testCode === null) return this.database.query<Eligibility>(OF_ACCOUNT, [accountCode, after, take]);
    // Records whose expiry is not stored yet are queried first. A record whose expiry is stored between the two queries
    // is then found twice; in the other order, it would be missed.
    const unnoted = statuses.includes('EXPIRED')
      ? await this.database.query<Eligibility>(EXPIRED_UNNOTED, [accountCode, after, take, now, testCode])
      : [];
    const values = [accountCode, after, take, statuses, now];
    const noted =
      testCode === null
        ? await this.database.query<Eligibility>(OF_STATUSES, values)
        : await this.database.query<Eligibility>(OF_STATUSES_AND_TEST, [...values, testCode]);
    if (unnoted.length === 0) return noted;
    const byPosition = new Map([...noted, ...unnoted].map((record) => [record.position, record]));
    return [...byPosition.values()].sort((left, right) => right.position - left.position).slice(0, take);
  }

  private async changed(values: unknown[]): Promise<Eligibility[]> {
    const rows = await this.database.query<Eligibility & { are_many: boolean }>(OF_CHANGED, values);
    if (rows[0].are_many) return this.database.query(OF_MANY_CHANGED, values);
    return rows.filter((row) => row.svc_eligiblity_id !== null);
  }
}
