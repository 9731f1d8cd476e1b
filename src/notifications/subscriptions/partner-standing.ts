import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import type { Subscription } from './subscription.entity.js';

export const HOURS = 24;

/**
 * SQL: the time of the first failed attempt to the partner of a subscription `s` after a success. A failed request does
 * not count if it was repeated successfully within its attempt (as RENEWED), because the success is later. Each
 * subquery of the expression reads a single row of an index.
 * @param success SQL for the time of the success; if it is null, the first of all failed attempts is found
 */
export const firstFailure = (success: string) => `(SELECT min(a.at) FROM notification_attempts a
    WHERE a.subscription_id = s.id AND a.failure IS NOT NULL AND a.at > coalesce(${success}, '-infinity'))`;
/**
 * SQL: the time of the newest successful attempt `a` for a subscription `s`.
 * @param condition a further SQL condition for the attempt
 */
export const newestSuccess = (condition = 'true') => `(SELECT max(a.at) FROM notification_attempts a
    WHERE a.subscription_id = s.id AND a.failure IS NULL AND ${condition})`;

/**
 * SQL: the columns `recent.last_ok` and `recent.failing_since` for the partner of a subscription `s`. They contain the
 * time of the last success, and the time of the first failed attempt after it. A partner becomes UP without an attempt
 * when it accepts a sample, so the time at which it became UP counts as a success. A DOWN partner always counts as
 * failing.
 */
export const FAILING_SINCE = `CROSS JOIN LATERAL (
    SELECT ok.last_ok, coalesce(${firstFailure('ok.last_ok')}, CASE WHEN s.health = 'DOWN' THEN s.health_changed_at END) AS failing_since
    FROM (
      SELECT greatest(${newestSuccess()}, CASE WHEN s.health = 'UP' THEN s.health_changed_at END) AS last_ok OFFSET 0) ok) recent`;

const FIND = prepared(
  'partner-failing-since',
  `SELECT s.id, recent.failing_since FROM subscriptions s ${FAILING_SINCE} WHERE s.id = ANY ($1::uuid[])`,
  acrossAccounts.keyInHand,
);

/** Reads the condition of partners from their newest attempts. */
@Injectable()
export class PartnerStanding {
  constructor(private readonly database: Database) {}

  /**
   * Returns, by subscription id, the time of the first failed attempt after the last success; null if no attempt failed
   * since then.
   */
  async failingSince(ids: readonly string[]): Promise<ReadonlyMap<string, Date | null>> {
    if (ids.length === 0) return new Map();
    const rows = await this.database.query<{ id: string; failing_since: Date | null }>(FIND, [ids]);
    return new Map(rows.map(({ id, failing_since }) => [id, failing_since]));
  }
}

/** Returns the members of an HTTP response that describe a busy partner, at the time `now`. */
export function shownPace(
  {
    delivery,
    paused_from,
    paused_until,
    pace,
  }: Pick<Subscription, 'delivery' | 'paused_from' | 'paused_until' | 'pace'>,
  now: Date,
): { paused_until: Date | null; pace: number | null } {
  // In the database, every partner that polls is paused, so that processes of release 1.0.0 do not push to it. This
  // pause is not shown.
  if (delivery === 'POLL') return { paused_until: null, pace: null };
  const isPaused = paused_from !== null && paused_until !== null && paused_from <= now && now < paused_until;
  return { paused_until: isPaused ? paused_until : null, pace: pace === null ? null : Math.round(pace * 100) / 100 };
}
