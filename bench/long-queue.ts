import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../src/platform/database/database.js';
import { query } from './prepare.js';

const BATCH = 20_000;
const SUBSCRIPTIONS = 20;

const SUBSCRIBE = `INSERT INTO subscriptions (id, account_code, partner_url, change_reasons, auth, auto_retry_on,
    signing_secret, state, health, next_probe_at, health_changed_at, created_datetime, updated_datetime)
  VALUES ($1, $2, 'https://partner.example', '{ABSENT}', '{"type": "none"}', '{500}', '\\x00', 'SUSPENDED', 'UP', NULL,
    NULL, now(), now())`;

const QUEUE = `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code,
    event_sequence, effective_date, body, state, retry, failure, http_status, queued_datetime)
  SELECT gen_random_uuid(), ($1::uuid[])[1 + i % ${SUBSCRIPTIONS}], $2, 'ABSENT', 'B' || lpad(i::text, 9, '0'), 1, now(),
    '{"booking_code": "' || repeat('x', 400) || '"}', 'ERROR_QUEUE', 'MANUAL',
    (ARRAY['client_error', 'auth', 'tls', 'server_error'])[1 + i % 4], (ARRAY[400, 401, NULL, 503])[1 + i % 4], now()
  FROM generate_series($3::int, $4::int - 1) i`;

/** An error queue of so many rows, of twenty suspended partners and four causes; answers with the partners. */
export async function fillQueue(database: Database, url: string, account: string, rows: number): Promise<string[]> {
  const subscriptions = Array.from({ length: SUBSCRIPTIONS }, () => randomUUID());
  for (const id of subscriptions) await database.query({ text: SUBSCRIBE }, [id, account]);
  for (let from = 0; from < rows; from += BATCH)
    await database.query({ text: QUEUE }, [subscriptions, account, from, Math.min(rows, from + BATCH)]);
  // A sweep folds the counts; what autovacuum does within its minute is done now.
  await pause(3_000);
  await query(url, 'VACUUM ANALYZE notifications');
  await query(url, 'VACUUM error_queue_causes');
  return subscriptions;
}
