import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { hasLapsed, Database, MACHINE_TIME, prepared } from '../platform/database/database.js';
import type { AlertMessage } from './alert-message.entity.js';
import { SENDING_S } from './alert-transport.js';
import type { Alert } from './alert.entity.js';
import { MOST_RETRY_S } from './alerts.rules.js';

/**
 * The length of a lease in seconds. It is the time limit for sending a message, plus some time to record the outcome.
 */
const LEASE_S = SENDING_S + 10;
const LEASE_END = `${MACHINE_TIME} + interval '${LEASE_S} seconds'`;
const BATCH = 1000;
/**
 * The number of days for which sent messages are kept. Unsent messages are kept for {@link UNSENT_DAYS} days; after
 * that time, they are outdated.
 */
const MESSAGE_DAYS = 30;
const UNSENT_DAYS = 7;
const OCCURRENCE_DAYS = 8;

/**
 * Leases the alerts that have messages to send. $1: the fencing token; $2: the maximum number of alerts; $3: the names
 * of the alerts on which this process already works.
 *
 * A retry time that is further in the future than the longest wait is ignored, because it was set while the clock was
 * wrong.
 */
const CLAIM = prepared(
  'alerts-claim',
  `UPDATE alerts SET lease_token = $1, leased_until = ${LEASE_END}
   WHERE name IN (
     SELECT a.name FROM alerts a
     WHERE NOT a.disabled AND a.name <> ALL ($3::text[])
       AND (a.leased_until IS NULL OR ${hasLapsed('a.leased_until', LEASE_S)})
       AND (a.retry_datetime IS NULL OR a.retry_datetime <= statement_timestamp()
         OR a.retry_datetime > statement_timestamp() + interval '${MOST_RETRY_S + 5} seconds')
       AND EXISTS (SELECT FROM alert_messages m WHERE m.alert_name = a.name AND m.sent_datetime IS NULL)
     ORDER BY a.position LIMIT $2 FOR UPDATE SKIP LOCKED)
   RETURNING *`,
);

const NEXT_MESSAGE = prepared(
  'alert-next-message',
  'SELECT * FROM alert_messages WHERE alert_name = $1 AND sent_datetime IS NULL ORDER BY position LIMIT 1',
);

/**
 * Records that a message was sent. $1: the alert's name; $2: fencing token; $3: id of the message; $4: the reason why
 * some recipients did not get it. The lease is extended for the next message.
 */
const SENT = prepared(
  'alert-message-sent',
  `WITH own AS (
     UPDATE alerts SET leased_until = ${LEASE_END}, failures = 0, retry_datetime = NULL,
       last_sent_datetime = statement_timestamp(), last_error = $4,
       last_error_datetime = CASE WHEN $4::text IS NOT NULL THEN statement_timestamp() END
     WHERE name = $1 AND lease_token = $2 RETURNING name)
   UPDATE alert_messages m SET sent_datetime = statement_timestamp() FROM own
   WHERE m.id = $3 AND m.alert_name = own.name`,
);

/**
 * Records a failure to send. $1: the alert's name; $2: fencing token; $3: cause; $4: seconds until the next attempt.
 */
const FAILED = prepared(
  'alert-failed',
  `UPDATE alerts SET lease_token = NULL, leased_until = NULL, failures = failures + 1,
     retry_datetime = statement_timestamp() + make_interval(secs => $4),
     last_error = $3, last_error_datetime = statement_timestamp()
   WHERE name = $1 AND lease_token = $2`,
);
const RELEASE = prepared(
  'alert-release',
  'UPDATE alerts SET lease_token = NULL, leased_until = NULL WHERE name = $1 AND lease_token = $2',
);

const TEST_SENT = prepared(
  'alert-test-sent',
  `UPDATE alerts SET failures = 0, retry_datetime = NULL, last_sent_datetime = statement_timestamp(), last_error = NULL,
     last_error_datetime = NULL
   WHERE name = $1`,
);
const TEST_FAILED = prepared(
  'alert-test-failed',
  'UPDATE alerts SET last_error = $2, last_error_datetime = statement_timestamp() WHERE name = $1',
);

const REMOVE_MESSAGES = prepared(
  'alert-messages-remove-old',
  `DELETE FROM alert_messages WHERE id IN (
     SELECT id FROM alert_messages
     WHERE created_datetime < statement_timestamp() - interval '${UNSENT_DAYS} days'
       AND (sent_datetime IS NULL OR created_datetime < statement_timestamp() - interval '${MESSAGE_DAYS} days')
     LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
);
const REMOVE_OCCURRENCES = prepared(
  'alert-occurrences-remove-old',
  `DELETE FROM alert_occurrences
   WHERE NOT is_current
     AND coalesce(told_datetime, seen_datetime) < statement_timestamp() - interval '${OCCURRENCE_DAYS} days'`,
);

/** The maximum number of messages or occurrences that one statement deletes. */
export const REMOVED_AT_ONCE = BATCH;

/** Leases alerts to the process that sends their messages, and records the outcomes. */
@Injectable()
export class AlertStore {
  constructor(private readonly database: Database) {}

  /** Leases at most `most` alerts that have messages to send. */
  claim(most: number, busy: readonly string[]): Promise<Alert[]> {
    // The fencing token is random, because a sequence can repeat values after a failover.
    const token = Number(randomBytes(8).readBigUInt64BE() >> 11n);
    return this.database.query<Alert>(CLAIM, [token, most, busy]);
  }

  nextMessage(name: string): Promise<AlertMessage | null> {
    return this.database.queryOne<AlertMessage>(NEXT_MESSAGE, [name]);
  }

  /**
   * Records that the message was sent. Returns false if the lease was lost.
   * @param error the reason why some recipients did not get the message; null if all got it
   */
  async sent({ name, lease_token }: Alert, messageId: string, error: string | null): Promise<boolean> {
    return (await this.database.execute(SENT, [name, lease_token, messageId, error])) === 1;
  }

  async failed({ name, lease_token }: Alert, cause: string, waitS: number): Promise<void> {
    await this.database.execute(FAILED, [name, lease_token, cause, waitS]);
  }

  async release({ name, lease_token }: Alert): Promise<void> {
    await this.database.execute(RELEASE, [name, lease_token]);
  }

  async testSent(name: string): Promise<void> {
    await this.database.execute(TEST_SENT, [name]);
  }

  async testFailed(name: string, cause: string): Promise<void> {
    await this.database.execute(TEST_FAILED, [name, cause]);
  }

  /** Deletes old messages. Returns the number of deleted messages. */
  removeMessages(): Promise<number> {
    return this.database.execute(REMOVE_MESSAGES);
  }

  removeOccurrences(): Promise<number> {
    return this.database.execute(REMOVE_OCCURRENCES);
  }
}
