import { Injectable } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { ACROSS_ACCOUNTS } from '../../platform/context/caller.js';
import { afterCursor, type Page } from '../../platform/http/paging.js';
import {
  FindActiveJobs,
  MarkActiveJobs,
  SurveyPartners,
  type JobMark,
  type PartnerCondition,
} from '../notifications.queries.js';
import { accountsOfJob, JobReader, presentJob } from './job-reader.js';
import { FAILING_SINCE, HOURS } from '../subscriptions/partner-standing.js';
import { ADDRESS } from '../subscriptions/subscription.rules.js';
import type { JobModel } from './jobs.dto.js';

/** SQL: the subquery `hour ("from")` with the starts of the last `count` hours, of which the current hour is one. */
export const lastHours = (count: number): string => `hour AS MATERIALIZED (
     SELECT "from" FROM generate_series(date_trunc('hour', statement_timestamp(), 'UTC') - interval '${count - 1} hours',
       statement_timestamp(), interval '1 hour') "from")`;

/** The SQL columns that describe the condition of a subscription `s`. */
const CONDITION = `s.id AS subscription_id, s.account_code, s.name AS subscription_name,
  ${ADDRESS}, s.delivery, s.state, s.health, s.health_changed_at,
  s.next_probe_at, s.paused_from, s.paused_until, s.pace, s.certificate_not_after, coalesce(queue.count, 0)::int AS queued, recent.failing_since`;
const CONDITION_FROM = `
  LEFT JOIN (SELECT subscription_id, sum(change) AS count FROM error_queue_causes GROUP BY 1) queue
    ON queue.subscription_id = s.id
  ${FAILING_SINCE}`;

const SURVEY = prepared(
  'partners-survey',
  `SELECT ${CONDITION} FROM subscriptions s ${CONDITION_FROM}
   WHERE s.deleted_datetime IS NULL ORDER BY s.position`,
  acrossAccounts.figures,
);

/**
 * Lists partners with their condition. $1: accounts, or null for all; $2: cursor; $3: number of rows; $4: whether only
 * failing partners are listed.
 */
const LIST = prepared(
  'partners-list',
  `WITH ${lastHours(HOURS)},
   s AS MATERIALIZED (
     SELECT * FROM subscriptions s
     WHERE deleted_datetime IS NULL AND ($1::text[] IS NULL OR account_code = ANY ($1)) AND ${afterCursor('$2')}
       AND (NOT $4::boolean OR state = 'ACTIVE' AND (SELECT recent.failing_since FROM (SELECT) one ${FAILING_SINCE}) IS NOT NULL)
     ORDER BY position DESC LIMIT $3)
   SELECT s.position, (SELECT min("from") FROM hour) AS hours_from, ${CONDITION}, hours.*
   FROM s ${CONDITION_FROM}
   CROSS JOIN LATERAL (
     SELECT array_agg(coalesce(counted.delivered, 0) ORDER BY hour."from") AS delivered,
       array_agg(coalesce(counted.failed, 0) ORDER BY hour."from") AS failed,
       array_agg(counted.p95_ms ORDER BY hour."from") AS p95_ms
     FROM hour LEFT JOIN (
       SELECT date_trunc('hour', a.at, 'UTC') AS "from", (count(*) FILTER (WHERE a.failure IS NULL))::int AS delivered,
         count(a.failure)::int AS failed, percentile_disc(0.95) WITHIN GROUP (ORDER BY a.duration_ms) AS p95_ms
       FROM notification_attempts a
       WHERE a.subscription_id = s.id AND a.at >= (SELECT min("from") FROM hour) GROUP BY 1) counted USING ("from")) hours
   ORDER BY s.position DESC`,
);

export interface ListedPartner extends PartnerCondition {
  readonly position: number;
  /** The start of the first hour for which `delivered` and `failed` contain counts. */
  readonly hours_from: Date;
  readonly delivered: number[];
  readonly failed: number[];
  readonly p95_ms: (number | null)[];
}

/** Reads the condition of partners, with their attempts of the last day. */
@Injectable()
export class PartnerReader {
  constructor(private readonly database: Database) {}

  /**
   * Returns a page of partners with their condition, newest first.
   * @param onlyFailing whether the page contains only the ACTIVE partners whose latest attempts have all failed
   */
  list(accountCodes: readonly string[] | null, onlyFailing: boolean, { after, take }: Page): Promise<ListedPartner[]> {
    return this.database.query<ListedPartner>(LIST, [accountCodes, after, take, onlyFailing]);
  }
}

@QueryHandler(SurveyPartners)
export class SurveyPartnersHandler implements IQueryHandler<SurveyPartners> {
  constructor(private readonly database: Database) {}

  execute(): Promise<readonly PartnerCondition[]> {
    return this.database.query<PartnerCondition>(SURVEY);
  }
}

@QueryHandler(FindActiveJobs)
export class FindActiveJobsHandler implements IQueryHandler<FindActiveJobs> {
  constructor(private readonly reader: JobReader) {}

  async execute({ most, allowedAccounts }: FindActiveJobs): Promise<JobModel[]> {
    return (await this.reader.active(most, allowedAccounts)).map(presentJob);
  }
}

@QueryHandler(MarkActiveJobs)
export class MarkActiveJobsHandler implements IQueryHandler<MarkActiveJobs> {
  constructor(private readonly reader: JobReader) {}

  async execute(): Promise<JobMark[]> {
    return (await this.reader.active(null, ACROSS_ACCOUNTS)).map((job) => ({
      account_codes: accountsOfJob(job),
      mark: JSON.stringify(presentJob(job)),
    }));
  }
}
