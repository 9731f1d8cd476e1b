import {
  outcomeAfter,
  placeOf,
  type KeptNotification,
  type NotificationStore,
  type Outcome,
  type Received,
} from './notification-store.js';

/** The methods of a database connection that the store needs. The class `PoolClient` of `pg` has them. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: object[]; rowCount: number | null }>;
  release(error?: Error | boolean): void;
}

/** The methods of a connection pool that the store needs. The class `Pool` of `pg` has them. */
export interface PostgresPool<Client extends PostgresClient> {
  connect(): Promise<Client>;
}

/**
 * SQL statements that create the tables, or update the tables of release 1.0.0. Run them once, or add them to your
 * migrations. Keep the rows of `taken_notifications` for as long as you may receive the same notification again.
 */
export const POSTGRES_SCHEMA = `
CREATE TABLE IF NOT EXISTS taken_notifications (
  webhook_id text PRIMARY KEY,
  taken_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS notified_bookings (
  booking_code text PRIMARY KEY,
  event_sequence integer NOT NULL
);
CREATE TABLE IF NOT EXISTS notified_records (
  record text PRIMARY KEY,
  at_s bigint NOT NULL
);
ALTER TABLE taken_notifications ADD COLUMN IF NOT EXISTS at_s bigint, ADD COLUMN IF NOT EXISTS digest text;
CREATE INDEX IF NOT EXISTS taken_notifications_at ON taken_notifications (at_s);`;

/**
 * Stores processed notifications in your own PostgreSQL, in the transaction in which your function `work` runs. Each
 * notification therefore takes effect exactly once.
 */
export class PostgresStore<Client extends PostgresClient> implements NotificationStore<Client> {
  constructor(private readonly pool: PostgresPool<Client>) {}

  async once(received: Received, work: (client: Client, isNewestOfRecord: boolean) => Promise<void>): Promise<Outcome> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const outcome = await take(client, received, work);
      await client.query('COMMIT');
      client.release();
      return outcome;
    } catch (error) {
      // After an error, the database connection is closed. PostgreSQL then rolls back the transaction in any case.
      client.release(true);
      throw error;
    }
  }

  async kept(fromS: number, toS: number): Promise<KeptNotification[]> {
    const client = await this.pool.connect();
    try {
      const { rows } = await client.query(
        `SELECT webhook_id AS id, at_s::float8 AS "atS", digest FROM taken_notifications
         WHERE at_s >= $1 AND at_s < $2 AND digest IS NOT NULL`,
        [fromS, toS],
      );
      return rows as KeptNotification[];
    } finally {
      client.release();
    }
  }
}

async function take<Client extends PostgresClient>(
  client: Client,
  received: Received,
  work: (client: Client, isNewestOfRecord: boolean) => Promise<void>,
): Promise<Outcome> {
  const { id, sequence, notification, digest } = received;
  const { key, record, atS } = placeOf(notification);
  // A lock on the booking's row serializes the notifications about one booking.
  await client.query('INSERT INTO notified_bookings VALUES ($1, 0) ON CONFLICT DO NOTHING', [key]);
  const { rows } = await client.query(
    'SELECT event_sequence FROM notified_bookings WHERE booking_code = $1 FOR UPDATE',
    [key],
  );
  if (id !== null) {
    const taken = await client.query(
      'INSERT INTO taken_notifications (webhook_id, at_s, digest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [id, atS, digest ?? null],
    );
    if (taken.rowCount === 0) return 'repeat';
  }
  const [{ event_sequence: last }] = rows as { event_sequence: number }[];
  const outcome = outcomeAfter(last, received);
  if (outcome !== 'applied') return outcome;
  const newest = await client.query(
    `INSERT INTO notified_records AS r VALUES ($1, $2)
     ON CONFLICT (record) DO UPDATE SET at_s = excluded.at_s WHERE r.at_s <= excluded.at_s`,
    [record, atS],
  );
  await work(client, newest.rowCount === 1);
  await client.query('UPDATE notified_bookings SET event_sequence = $2 WHERE booking_code = $1', [key, sequence]);
  return outcome;
}
