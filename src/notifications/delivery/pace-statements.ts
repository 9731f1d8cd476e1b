/**
 * The SQL statements for the pace of a partner. The database stores one pace for all processes.
 *
 * 1. A "busy" response is a 429, or a 503 if the subscription retries 503 automatically. It pauses the partner: until
 *    `paused_until`, no notification is claimed and no send time is reserved. The number of successful responses in the
 *    last second is stored as the ceiling, which is the partner's measured throughput. The pace becomes half of the
 *    ceiling.
 * 2. Requests to a partner with a pace, or with an operator's upper limit, are evenly spaced. Each process reserves
 *    send times for its requests (`RESERVE`). `paced_to` is the time until which sending is reserved.
 * 3. Successful responses raise the pace. The pace rises quickly to nearly the ceiling. After a waiting period, it
 *    rises exponentially beyond the ceiling, until the partner is busy again. The waiting period doubles if the new
 *    ceiling is about the same as before.
 * 4. Each "busy" response creates a debt of `DEBT` successful responses. The pace rises beyond the ceiling only when
 *    successful responses have paid this debt. Only a few of a slow partner's responses are therefore "busy".
 *
 * Never compare a stored time with the current time without also checking when the stored time was written, because the
 * clock may have been changed since then.
 */
import { acrossAccounts, prepared } from '../../platform/database/database.js';

/** The maximum difference, in seconds, between the clock readings of two statements on one server. */
const SKEW_S = 5;
/** The length, in seconds, of the period for which a single statement reserves send times. */
const AHEAD_S = 0.1;
/**
 * UNBOUNDED is the pace, in requests per second, from which requests are not limited. SLOWEST is the lowest possible
 * pace.
 */
const UNBOUNDED = 4000;
const SLOWEST = 0.05;
/**
 * The fraction of the ceiling (the last measured throughput) to which the pace rises quickly. It then rises no further
 * for the waiting period ({@link PATIENCE_S}).
 */
const SAFE = 0.97;
/** The factor by which a pace that proved too high is reduced. */
const REDUCED = 0.95;
/**
 * At a pace below SLOW, in requests per second, a single response changes the measured throughput considerably. The new
 * ceiling is therefore at least SLOW_REDUCED times such a pace.
 */
const SLOW = 2;
const SLOW_REDUCED = 0.75;
/**
 * The increase of the pace, in requests per second, for each successful response. REGAIN applies while the pace is
 * below the ceiling, PROBE while it rises beyond the ceiling, and RISING once the throughput has proved higher.
 */
const REGAIN = 4;
const PROBE = 1;
const RISING = 4;
/**
 * If the pace exceeds the ceiling (the last measured throughput) by this factor, the throughput counts as higher than
 * before.
 */
const RISEN = 1.15;
/**
 * PATIENCE_S is the period, in seconds, for which responses must be successful before the pace rises beyond a new
 * ceiling. The period is doubled each time the same ceiling is measured again, but at most DOUBLINGS times.
 */
const PATIENCE_S = 7.5;
const DOUBLINGS = 1;
/**
 * The number of times that {@link PATIENCE_S} is doubled for a partner's first ceiling. The number is negative and so
 * shortens the period, because the first ceiling is a guess: other processes have not yet recorded their responses.
 */
const GUESSED = -2;
/**
 * DEBT is the number of successful responses that make up for one "busy" response. REMEMBERED is the maximum number of
 * "busy" responses that are remembered.
 */
const DEBT = 29;
const REMEMBERED = 2;

/** The SQL condition that a period is over, or has not begun because the clock was set back. */
export const isOver = (from: string, until: string): string =>
  `(${until} IS NULL OR ${until} <= statement_timestamp() OR ${from} > statement_timestamp() + interval '${SKEW_S} seconds')`;

/** The SQL condition that the partner of the subscription `s` is not paused after a "busy" response. */
export const MAY_BE_ASKED = isOver('s.paused_from', 's.paused_until');

/** The SQL expression for the allowed requests per second of a subscription `s`; null means no limit. */
export const PACE = 'least(s.pace, s.max_per_second)';

/**
 * The SQL expression for the time until which sending is already reserved for a subscription `s`. If nothing is
 * reserved beyond the current time, the expression is the current time.
 */
const GIVEN_OUT_TO = `CASE WHEN s.paced_to > statement_timestamp() AND s.paced_to < statement_timestamp() + make_interval(secs => ${SKEW_S} + 2 / ${PACE})
    THEN s.paced_to ELSE statement_timestamp() END`;

/** The SQL condition that a subscription `s` may get its next request now. */
export const IN_PACE = `(${PACE} IS NULL OR ${GIVEN_OUT_TO} <= statement_timestamp())`;
/** The SQL expression for the new `paced_to` of a subscription `s`, for which an UPDATE reserves one more send time. */
export const ONE_MORE = `${GIVEN_OUT_TO} + make_interval(secs => 1 / ${PACE})`;

const HOLD = `greatest(0, ${PATIENCE_S} * s.pace_ceiling * power(2, least(s.pace_confirmed, ${DOUBLINGS})) - ${DEBT})`;

/** The SQL expression for the pace of a subscription `s` after a number of further successful responses. */
export const GROWN = (answers: string): string => {
  const safe = `${SAFE} * s.pace_ceiling`;
  const grown = `CASE WHEN s.pace < ${safe}
      THEN least(${safe}, s.pace + ${REGAIN} * ${answers})
    WHEN s.pace > ${RISEN} * s.pace_ceiling THEN s.pace + ${RISING} * ${answers}
    WHEN s.pace_good + ${answers} > ${HOLD} THEN s.pace + ${PROBE} * ${answers} ELSE s.pace END`;
  return `nullif(least(${grown}, ${UNBOUNDED}), ${UNBOUNDED})`;
};

/**
 * The SQL expression for the new ceiling (throughput) of a subscription `s` whose partner is busy. The ceiling is the
 * number of successful responses in the last second, because the partner was then at its limit. If the pace was above
 * the old ceiling, the ceiling is not lowered. Otherwise, the old ceiling was too high, and the new ceiling is lower
 * than the pace.
 * @param good SQL for the successful responses that the writing process received in the last second
 */
export const CEILING = (good: string): string => {
  const since = (seconds: string) => `greatest(${good}, (SELECT count(*) FROM notification_attempts a
      WHERE a.subscription_id = s.id AND a.failure IS NULL
        AND a.at > statement_timestamp() - make_interval(secs => ${seconds})))`;
  const period = `greatest(1, 1 / ${PACE})`;
  return `greatest(${SLOWEST}, CASE WHEN s.pace IS NULL THEN least(${PACE}, greatest(1, ${since('1')}))
    WHEN s.pace > s.pace_ceiling THEN least(${PACE}, greatest(s.pace_ceiling, ${since('1')}))
    ELSE least(${REDUCED} * ${PACE}, greatest(coalesce(nullif(${since(period)}, 0) / ${period}, ${PACE} / 2),
      CASE WHEN ${PACE} < ${SLOW} THEN ${SLOW_REDUCED} * ${PACE} END)) END)`;
};

/**
 * The SQL expression for the number of consecutive times that the measured throughput (ceiling) of a subscription `s`
 * was about the same.
 * @param ceiling SQL for the new ceiling
 */
export const CONFIRMED = (ceiling: string): string =>
  `CASE WHEN s.pace_ceiling IS NULL THEN ${GUESSED}
    WHEN ${ceiling} BETWEEN 0.75 * s.pace_ceiling AND 1.25 * s.pace_ceiling THEN greatest(0, s.pace_confirmed + 1)
    ELSE 0 END`;

/**
 * The SQL expression for `pace_good` of a subscription `s` after a "busy" response. A negative value is a debt, which
 * each "busy" response increases by {@link DEBT}, and which successful responses reduce.
 */
export const INDEBTED = `CASE WHEN s.pace_ceiling IS NULL THEN 0
    ELSE greatest(-${REMEMBERED * DEBT}, least(0, s.pace_good) - ${DEBT}) END`;

/** The send times that a process has reserved for requests to a partner. Times are in milliseconds from now. */
export interface Reserved {
  /** The allowed number of requests per second to the partner; null means no limit. */
  pace: number | null;
  /** The number of reserved send times; 0 if no time can be reserved now. */
  requests: number;
  /** The time of the first reserved request or, if nothing is reserved, of the next attempt to reserve. */
  from_ms: number;
  /** The remaining time of the pause after the partner's "busy" response. */
  wall_ms: number;
}

/**
 * The SQL expression that corrects the ceiling of a subscription `s` at the first reservation after a pause. Only then
 * have all processes recorded the responses that they received before the pause. The expression is null unless the
 * stored ceiling is clearly too low. A small difference is ignored, because it may come from a single response.
 */
const RECOUNTED = `(SELECT CASE WHEN s.pace_ceiling < least(0.9 * counted.a_second, counted.a_second - 1.5) THEN counted.a_second END FROM (
    SELECT count(*) / greatest(1, 0.5 / s.pace) AS a_second FROM notification_attempts a
    WHERE s.paced_to IS NULL AND s.pace_ceiling IS NOT NULL AND a.subscription_id = s.id AND a.failure IS NULL
      AND a.at > s.paused_from - make_interval(secs => greatest(1, 0.5 / s.pace)) AND a.at <= s.paused_from) counted)`;

/**
 * Reserves send times. $1: the subscription; $2: the number of waiting requests; $3: the milliseconds by which earlier
 * requests of this process left too late. This delay postpones the following send times of all processes. The commit
 * does not wait for the disk: a wait would delay the send times unevenly, and losing a reservation in a crash does no
 * harm.
 */
export const RESERVE = prepared(
  'delivery-reserve',
  `WITH partner AS MATERIALIZED (
     SELECT s.id, least(raised, s.max_per_second) AS pace, raised, ceiling, statement_timestamp() AS at,
       ${GIVEN_OUT_TO} + make_interval(secs => CASE WHEN s.paced_to > statement_timestamp() THEN $3::float8 / 1000 ELSE 0 END) AS given_out_to,
       set_config('synchronous_commit', 'off', true),
       CASE WHEN ${MAY_BE_ASKED} THEN 0
         ELSE extract(epoch FROM s.paused_until - statement_timestamp()) * 1000 END AS wall_ms
     FROM subscriptions s CROSS JOIN LATERAL (SELECT ${RECOUNTED} AS ceiling) recounted
       CROSS JOIN LATERAL (SELECT CASE WHEN s.pace IS NOT NULL THEN greatest(s.pace, ceiling / 2) END AS raised) grown
     WHERE s.id = $1 AND s.deleted_datetime IS NULL FOR NO KEY UPDATE OF s),
   share AS MATERIALIZED (
     SELECT *, CASE WHEN pace IS NULL OR wall_ms > 0 OR given_out_to > at + interval '${AHEAD_S} seconds' THEN 0
       ELSE least($2::int, greatest(1, floor(pace * ${AHEAD_S})))::int END AS requests
     FROM partner),
   given_out AS (
     UPDATE subscriptions s SET paced_to = share.given_out_to + make_interval(secs => share.requests / share.pace),
       pace_ceiling = greatest(s.pace_ceiling, share.ceiling), pace = share.raised
     FROM share WHERE s.id = share.id AND (share.requests > 0 OR $3::float8 > 0 AND share.wall_ms = 0 AND share.pace IS NOT NULL))
   SELECT pace, requests, wall_ms::float8 AS wall_ms,
     greatest(0, extract(epoch FROM given_out_to - at) * 1000 - CASE requests WHEN 0 THEN ${AHEAD_S * 1000} ELSE 0 END)::float8 AS from_ms
   FROM share`,
  acrossAccounts.workers,
);
