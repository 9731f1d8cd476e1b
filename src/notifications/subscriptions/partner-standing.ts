import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import type { Subscription } from './subscription.entity.js';

/** The number of newest attempts that are checked to decide whether all attempts to a partner fail. */
const RECENT = 20;
export const HOURS = 24;

/** SQL: the time since which all attempts to the partner of a subscription `s` have failed. */
export const FAILING_SINCE = `CROSS JOIN LATERAL (
    SELECT CASE WHEN count(*) > 0 AND count(*) = count(failure) THEN min(at) END AS failing_since
    FROM (
      SELECT a.at, a.failure FROM notification_attempts a
      WHERE a.subscription_id = s.id AND a.at >= statement_timestamp() - interval '${HOURS} hours'
      ORDER BY a.at DESC LIMIT ${RECENT}) attempt) recent`;

const FIND = prepared(
  'partner-failing-since',
  `SELECT s.id, recent.failing_since FROM unnest($1::uuid[]) AS s (id) ${FAILING_SINCE}`,
  acrossAccounts.keyInHand,
);

/** Reads the condition of partners from their newest attempts. */
@Injectable()
export class PartnerStanding {
  constructor(private readonly database: Database) {}

  /**
   * Returns, by subscription id, the time since which every attempt has failed; null after a success or without
   * attempts.
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
  // The database pauses every partner that polls, so that processes of release 1.0.0 do not push to it.
  if (delivery === 'POLL') return { paused_until: null, pace: null };
  const isPaused = paused_from !== null && paused_until !== null && paused_from <= now && now < paused_until;
  return { paused_until: isPaused ? paused_until : null, pace: pace === null ? null : Math.round(pace * 100) / 100 };
}
