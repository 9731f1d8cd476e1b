/**
 * The pace of a partner, as the database keeps it for all processes.
 *
 * 1. An answer that says "busy" (429, or 503 where that is retried) closes the partner's wall: until `paused_until` nothing is
 *    claimed or given out. It makes the pace half of what the partner took, whether that was known before or is counted then.
 * 2. A partner with a pace, or with an upper bound of its operator's, is sent one request after the other. Each process asks for
 *    the moments at which it may send (`RESERVE`): `paced_to` is the moment up to which they have been given out.
 * 3. Good answers let the pace grow: at once to nearly what the partner took before, then not at all for a while, then
 *    beyond. That while doubles when the partner takes no more than before.
 *
 * Never compare a stored moment with the present without the moment at which it was stored: the clock may have been set since.
 */
import { acrossAccounts, prepared } from '../../platform/database/database.js';

/** Clocks of one server's statements differ by no more. */
const SKEW_S = 5;
/** For how long requests are given out at once. */
const AHEAD_S = 0.2;
/** A pace beyond this bounds nothing. */
const UNBOUNDED = 1000;
const SLOWEST = 0.05;
/** How near to the ceiling the pace is kept. */
const SAFE = 0.95;
const REGAIN = 0.5;
const PROBE = 0.5;
/** Beyond so many times the ceiling the partner takes more than it did, and the pace grows twice as fast. */
const RISEN = 1.15;
/** So many good answers, or those of so many seconds, are waited for before more is tried. */
const PATIENCE = 40;
const PATIENCE_S = 8;
/** So many good answers tell how many of them the partner takes in a second. */
const TELLING = 8;

/** SQL: the stretch of time has not begun (the clock was set back), or is over. */
export const isOver = (from: string, until: string): string =>
  `(${until} IS NULL OR ${until} <= statement_timestamp() OR ${from} > statement_timestamp() + interval '${SKEW_S} seconds')`;

/** Of a subscription `s`: it is not waited for. */
export const MAY_BE_ASKED = isOver('s.paused_from', 's.paused_until');

/** Of a subscription `s`: requests a second; null: as many as it answers. */
export const PACE = 'least(s.pace, s.max_per_second)';

/** SQL of a subscription `s`: requests have been given out up to this moment, the present at least. */
const GIVEN_OUT_TO = `CASE WHEN s.paced_to > statement_timestamp() AND s.paced_to < statement_timestamp() + make_interval(secs => ${SKEW_S} + 2 / ${PACE})
    THEN s.paced_to ELSE statement_timestamp() END`;

/** Of a subscription `s`: the next request may be sent now. */
export const IN_PACE = `(${PACE} IS NULL OR ${GIVEN_OUT_TO} <= statement_timestamp())`;
/** For an UPDATE of it: one more request has been given out. */
export const ONE_MORE = `${GIVEN_OUT_TO} + make_interval(secs => 1 / ${PACE})`;

const HOLD = `greatest(${PATIENCE}, ${PATIENCE_S} * s.pace_ceiling) * power(2, least(s.pace_confirmed, 1))`;

/** SQL of a subscription `s` and so many good `answers`: the pace after them. */
export const GROWN = (answers: string): string => {
  const grown = `CASE WHEN s.pace < ${SAFE} * s.pace_ceiling
      THEN least(${SAFE} * s.pace_ceiling, s.pace + ${REGAIN} * ${answers})
    WHEN s.pace > ${RISEN} * s.pace_ceiling THEN s.pace + 2 * ${PROBE} * ${answers}
    WHEN s.pace_good + ${answers} > ${HOLD} THEN s.pace + ${PROBE} * ${answers} ELSE s.pace END`;
  return `nullif(least(${grown}, ${UNBOUNDED}), ${UNBOUNDED})`;
};

/**
 * SQL of a subscription `s` that says it is busy: what it takes, by what it took. The answers are counted over as long a time as
 * tells something, and where there are too few, the pace that was too much is taken for a little too much. Where more than the
 * ceiling was tried, the ceiling itself had proved good.
 * @param good how many good answers the process that writes had in the last second
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

/** Of a subscription `s` with a new `ceiling`: how often in a row it has been about the same. */
export const CONFIRMED = (ceiling: string): string =>
  `CASE WHEN ${ceiling} BETWEEN 0.75 * s.pace_ceiling AND 1.25 * s.pace_ceiling AND s.pace_good >= ${TELLING}
    THEN s.pace_confirmed + 1 ELSE 0 END`;

/** Requests that a process may send to a partner, counted in milliseconds from the present. */
export interface Reserved {
  /** null: at any pace. */
  pace: number | null;
  /** How many requests; 0: none for now. */
  requests: number;
  /** When the first of them may be sent, or when to ask again. */
  from_ms: number;
  /** The partner is busy for so long. */
  wall_ms: number;
}

/** $1 the subscription, $2 how many requests wait. */
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
