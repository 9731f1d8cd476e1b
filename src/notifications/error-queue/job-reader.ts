import { Injectable } from '@nestjs/common';
import { formatDateTime } from '../../platform/clock.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { isUuid } from '../../platform/validation/identifiers.js';
import type { AllowedAccounts } from '../../platform/context/caller.js';
import { currentAllowedAccounts, currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { notFound } from '../../platform/errors.js';
import type { Page } from '../../platform/http/paging.js';
import type { Job } from '../../platform/jobs/job.entity.js';
import { ABOUT } from '../delivery/notification-columns.js';
import type { ItemOutcome } from '../delivery/job-item.entity.js';
import { ADDRESS } from '../subscriptions/subscription.rules.js';
import type { NotificationConditions } from '../delivery/notification-filter.js';
import {
  BOOKING_ON,
  CANDIDATE_ID,
  CANDIDATE_NAME,
  LOCATION_TIMEZONE,
  PREVIOUS_BOOKING_ON,
} from './notification-reader.js';
import type { JobItemModel, JobModel, JobQuery, ResendModel } from './jobs.dto.js';

/** A job with the sums of the counts of its parts. Jobs that are not about notifications have no parts. */
interface CountedJob extends Job {
  /** The partner that the job's filter names; null if the filter names no partner. */
  subscription_id: string | null;
  subscription_name: string | null;
  partner_url: string | null;
  waiting: number;
  sent: number;
  delivered: number;
  failed: number;
  skipped: number;
  resolved: number;
}

// The filter of a job may name a partner of an account that the job does not concern. The name of such a partner is not
// returned.
const jobs = `SELECT j.*, p.*, s.id AS subscription_id, s.name AS subscription_name, ${ADDRESS}
  FROM jobs j LEFT JOIN subscriptions s ON s.id = (j.filter->>'subscription_id')::uuid
    AND s.account_code = coalesce(j.account_code, s.account_code)
    AND (j.filter->'account_codes' IS NULL OR j.filter->'account_codes' ? s.account_code)
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(waiting), 0)::int AS waiting, coalesce(sum(sent), 0)::int AS sent,
      coalesce(sum(delivered), 0)::int AS delivered, coalesce(sum(failed), 0)::int AS failed,
      coalesce(sum(skipped), 0)::int AS skipped, coalesce(sum(resolved), 0)::int AS resolved
    FROM job_parts WHERE job_id = j.id) p`;

/**
 * The SQL condition that every account that a job concerns is in the given parameter; null means all accounts. A job
 * whose filter names no account may concern any account, so only callers with access to all accounts may see it.
 */
const within = (accounts: string): string => `(${accounts}::text[] IS NULL OR j.account_code = ANY (${accounts})
  OR j.account_code IS NULL AND j.filter->'account_codes' <> '[]' AND j.filter->'account_codes' <@ to_jsonb(${accounts}))`;

/**
 * The SQL condition with which a partner sees only its own jobs. Every subscription of the job must be in the given
 * parameter. If the parameter is null, every job matches. Jobs that operators started list no subscriptions, so no
 * partner sees them.
 */
const ofPartner = (subscriptions: string): string => `(${subscriptions}::text[] IS NULL
  OR j.filter->'subscription_ids' <> '[]' AND j.filter->'subscription_ids' <@ to_jsonb(${subscriptions}::text[]))`;

const FIND = prepared('job-find', `${jobs} WHERE j.id = $1 AND ${within('$2')} AND ${ofPartner('$3')}`);

const ACTIVE = prepared(
  'jobs-not-ended',
  `${jobs} WHERE j.state IN ('PREPARING', 'RUNNING', 'PAUSED') AND ${within('$2')} ORDER BY j.position DESC LIMIT $1`,
);

type ItemRow = JobItemModel & { position: number };

@Injectable()
export class JobReader {
  constructor(private readonly database: Database) {}

  /**
   * Returns one bulk job.
   * @throws DomainError `not_found`
   */
  async get(id: string): Promise<CountedJob> {
    const reach = [currentAllowedAccounts(), currentAllowedSubscriptions()];
    const job = isUuid(id) ? await this.database.queryOne<CountedJob>(FIND, [id, ...reach]) : null;
    if (job === null) throw notFound.error({ detail: 'There is no such job.' });
    return job;
  }

  /** Returns a page of bulk jobs, newest first. */
  list({ kind, state, account_code, subscription_id }: JobQuery, { take, after }: Page): Promise<CountedJob[]> {
    const values: unknown[] = [take, currentAllowedAccounts()];
    const conditions = [within('$2')];
    const add = (condition: (parameter: string) => string, value: unknown) => {
      if (value == null) return;
      values.push(value);
      conditions.push(condition(`$${values.length}`));
    };
    add((it) => `j.position < ${it}`, after);
    add((it) => `j.kind = ${it}`, kind);
    add((it) => `j.state = ${it}`, state);
    add(
      (it) => `(j.account_code = ${it} OR EXISTS (
        SELECT FROM job_parts p JOIN subscriptions s ON s.id = p.subscription_id
        WHERE p.job_id = j.id AND s.account_code = ${it}))`,
      account_code,
    );
    add(
      // A job that is being prepared, or that has found no notifications, has no parts.
      (it) => `(j.filter->>'subscription_id' = ${it}::text OR EXISTS (
        SELECT FROM job_parts p WHERE p.job_id = j.id AND p.subscription_id = ${it}::text::uuid))`,
      subscription_id?.toLowerCase(),
    );
    const text = `${jobs} WHERE ${conditions.join(' AND ')} ORDER BY j.position DESC LIMIT $1`;
    return this.database.query<CountedJob>({ text }, values);
  }

  /**
   * Returns the jobs that have not ended, newest first.
   * @param most the maximum number of jobs; null for all
   */
  active(most: number | null, allowedAccounts: AllowedAccounts): Promise<CountedJob[]> {
    return this.database.query<CountedJob>(ACTIVE, [most, allowedAccounts]);
  }

  /** Returns a page of a job's items, in the order in which the job processes them. */
  items(id: string, outcome: ItemOutcome | undefined, { take, after }: Page): Promise<ItemRow[]> {
    const values: unknown[] = [id, after ?? 0, take];
    if (outcome !== undefined) values.push(outcome);
    const text = `SELECT i.notification_position AS position, n.id AS notification_id, ${ABOUT}, i.subscription_id,
        s.name AS subscription_name, ${ADDRESS}, ${CANDIDATE_ID} AS candidate_id,
        ${CANDIDATE_NAME} AS candidate_name, n.change_reason, ${BOOKING_ON} AS booking_on,
        ${PREVIOUS_BOOKING_ON} AS previous_booking_on, ${LOCATION_TIMEZONE} AS location_timezone, i.outcome
      FROM (
        SELECT * FROM job_items WHERE job_id = $1 AND notification_position > $2
          ${outcome === undefined ? '' : 'AND outcome = $4'}
        ORDER BY notification_position LIMIT $3) i
      LEFT JOIN notifications n ON n.position = i.notification_position
      LEFT JOIN subscriptions s ON s.id = i.subscription_id ORDER BY i.notification_position`;
    return this.database.query<ItemRow>({ text, across: acrossAccounts.keyInHand }, values);
  }
}

/**
 * Returns the accounts that a job concerns. Returns null for an operator's job without an account, which may concern
 * any account.
 */
export function accountsOfJob({ account_code, filter }: Job): readonly string[] | null {
  if (account_code !== null) return [account_code];
  const { account_codes } = filter as { account_codes?: readonly string[] };
  return account_codes?.length ? account_codes : null;
}

export function presentJob(job: CountedJob): JobModel {
  const { account_codes: _, subscription_ids: __, ...filter } = job.filter as NotificationConditions;
  return {
    job_id: job.id,
    kind: job.kind,
    state: job.state,
    account_code: job.account_code,
    subscription_id: job.subscription_id,
    subscription_name: job.subscription_name,
    partner_url: job.partner_url,
    filter,
    paused_because: job.paused_because,
    paused_by: job.paused_by,
    matched: job.matched,
    waiting: job.waiting,
    sent: job.sent,
    delivered: job.delivered,
    failed: job.failed,
    skipped: job.skipped,
    resolved: job.resolved,
    reason: job.reason,
    unmatched_results: job.unmatched_results,
    actor: job.actor,
    created_datetime: formatDateTime(job.created_datetime),
  };
}

export function presentResend(job: CountedJob): ResendModel {
  return { ...presentJob(job), resend_id: job.id };
}
