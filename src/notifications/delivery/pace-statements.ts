/**
 * Statements for the pace of a partner, which the database stores for all processes.
 *
 * 1. A "busy" answer (429, or 503 where that is retried) pauses the partner: until `paused_until` nothing is claimed or
 *    reserved. The pace becomes half of the partner's throughput, which was known before or is counted then.
 * 2. A partner with a pace, or with an operator's upper limit, gets its requests evenly spaced. Each process reserves
 *    its send moments (`RESERVE`); `paced_to` is the end of all reservations.
 * 3. Successful answers raise the pace: at first quickly to nearly the previous throughput, then not for a while, then
 *    beyond. That while doubles when the throughput turns out to be the same.
 *
 * Never compare a stored time with the current time without the time at which it was stored: the clock may have been
 * set since.
 */
import { acrossAccounts, prepared } from '../../platform/database/database.js';

/** Clocks of one server's statements differ by at most this. */
const SKEW_S = 5;
/** Send moments are reserved for this time at once. */
const AHEAD_S = 0.2;
/** A higher pace does not limit anything. */
const UNBOUNDED = 1000;
const SLOWEST = 0.05;
/** The pace stays at this fraction of the ceiling. */
const SAFE = 0.97;
const REGAIN = 1;
const PROBE = 0.5;
/** Beyond this multiple of the ceiling, the partner's throughput has risen, and the pace grows twice as fast. */
const RISEN = 1.15;
/** Before the pace rises further, this many successful answers, or those of this many seconds, are awaited. */
const PATIENCE = 40;
const PATIENCE_S = 8;
/** This many successful answers are enough to estimate the throughput per second. */
const TELLING = 8;

/** SQL: the period is over, or has not begun (the clock was set back). */
export const isOver = (from: string, until: string): string =>
  `(${until} IS NULL OR ${until} <= statement_timestamp() OR ${from} > statement_timestamp() + interval '${SKEW_S} seconds')`;

/** SQL: a subscription `s` is not paused. */
export const MAY_BE_ASKED = isOver('s.paused_from', 's.paused_until');

/** SQL: allowed requests per second of a subscription `s`; null means no limit. */
export const PACE = 'least(s.pace, s.max_per_second)';

/** SQL: the end of the reserved send moments of a subscription `s`, at least the current time. */
const GIVEN_OUT_TO = `CASE WHEN s.paced_to > statement_timestamp() AND s.paced_to < statement_timestamp() + make_interval(secs => ${SKEW_S} + 2 / ${PACE})
    THEN s.paced_to ELSE statement_timestamp() END`;

/** SQL: a subscription `s` may get its next request now. */
export const IN_PACE = `(${PACE} IS NULL OR ${GIVEN_OUT_TO} <= statement_timestamp())`;
/** SQL for an UPDATE: reserves one more send moment. */
export const ONE_MORE = `${GIVEN_OUT_TO} + make_interval(secs => 1 / ${PACE})`;

const HOLD = `greatest(${PATIENCE}, ${PATIENCE_S} * s.pace_ceiling) * power(2, least(s.pace_confirmed, 1))`;

/** SQL: the pace of a subscription `s` after this many successful `answers`. */
export const GROWN = (answers: string): string => {
  const grown = `CASE WHEN s.pace < ${SAFE} * s.pace_ceiling
      THEN least(${SAFE} * s.pace_ceiling, s.pace + ${REGAIN} * ${answers})
    WHEN s.pace > ${RISEN} * s.pace_ceiling THEN s.pace + 2 * ${PROBE} * ${answers}
    WHEN s.pace_good + ${answers} > ${HOLD} THEN s.pace + ${PROBE} * ${answers} ELSE s.pace END`;
  return `nullif(least(${grown}, ${UNBOUNDED}), ${UNBOUNDED})`;
};

/**
 * SQL: the new ceiling of a busy subscription `s`, from its throughput. The successful answers are counted over a
 * period that is long enough. With too few answers, the pace that was too high is reduced a little. When more than the
 * ceiling was tried, the ceiling itself had proved good.
 * @param good SQL of the successful answers that the writing process got in the last second
 */
export const CEILING = (good: string): string => {
  const since = (seconds: string) => `(SELECT count(*) FROM notification_attempts a
      WHERE a.subscription_id = s.id AND a.failure IS NULL
        AND a.at > statement_timestamp() - make_interval(secs => ${seconds}))`;
  const telling = `greatest(1, ${TELLING} / ${PACE})`;
  return `greatest(${SLOWEST}, CASE WHEN ${PACE} IS NULL THEN greatest(1, ${good}, ${since('1')})
    WHEN s.pace_good < ${TELLING} THEN 0.85 * ${PACE}
    WHEN s.pace > s.pace_ceiling THEN least(${PACE}, greatest(s.pace_ceiling, ${since(telling)} / ${telling}))
    ELSE least(${PACE}, greatest(${PACE} / 2, ${since(telling)} / ${telling})) END)`;
};

/**
 * SQL: the number of consecutive times that the ceiling of a subscription `s` was about the same, with its new
 * `ceiling`.
 */
export const CONFIRMED = (ceiling: string): string =>
  `CASE WHEN ${ceiling} BETWEEN 0.75 * s.pace_ceiling AND 1.25 * s.pace_ceiling AND s.pace_good >= ${TELLING}
    THEN s.pace_confirmed + 1 ELSE 0 END`;

/** Reserved requests of a process to a partner; times are milliseconds from now. */
export interface Reserved {
  /** The pace; null means no limit. */
  pace: number | null;
  /** The number of requests; 0 means none for now. */
  requests: number;
  /** The time of the first request, or of the next reservation. */
  from_ms: number;
  /** The remaining pause of a busy partner. */
  wall_ms: number;
}

/** $1: the subscription; $2: the number of waiting requests. */
export const RESERVE = prepared(
  'delivery-reserve',
  `WITH partner AS MATERIALIZED (
     SELECT s.id, ${PACE} AS pace, statement_timestamp() AS at, ${GIVEN_OUT_TO} AS given_out_to,
       CASE WHEN ${MAY_BE_ASKED} THEN 0
         ELSE extract(epoch FROM s.paused_until - statement_timestamp()) * 1000 END AS wall_ms
     FROM subscriptions s WHERE s.id = $1 AND s.deleted_datetime IS NULL FOR NO KEY UPDATE),
   share AS MATERIALIZED (
     SELECT *, CASE WHEN pace IS NULL OR wall_ms > 0 OR given_out_to > at + interval '${AHEAD_S} seconds' THEN 0
       ELSE least($2::int, greatest(1, floor(pace * ${AHEAD_S})))::int END AS requests
     FROM partner),
   given_out AS (
     UPDATE subscriptions s SET paced_to = share.given_out_to + make_interval(secs => share.requests / share.pace)
     FROM share WHERE s.id = share.id AND share.requests > 0)
   SELECT pace, requests, wall_ms::float8 AS wall_ms,
     greatest(0, extract(epoch FROM given_out_to - at) * 1000 - CASE requests WHEN 0 THEN ${AHEAD_S * 1000} ELSE 0 END)::float8 AS from_ms
   FROM share`,
  acrossAccounts.keyInHand,
);
