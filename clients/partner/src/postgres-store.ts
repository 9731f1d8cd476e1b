import { outcomeAfter, type NotificationStore, type Outcome, type Received } from './notification-store.js';

/** The methods of a connection that the store needs; `PoolClient` of `pg` has them. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: { event_sequence: number }[]; rowCount: number | null }>;
  release(error?: Error | boolean): void;
}

/** The methods of a pool that the store needs; `Pool` of `pg` has them. */
export interface PostgresPool<Client extends PostgresClient> {
  connect(): Promise<Client>;
}

/**
 * Creates the tables. Run it once, or add it to your migrations. Keep the rows of `taken_notifications` for as long as
 * you may receive the same notification again.
 */
export const POSTGRES_SCHEMA = `
CREATE TABLE IF NOT EXISTS taken_notifications (
  webhook_id text PRIMARY KEY,
  taken_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS notified_bookings (
  booking_code text PRIMARY KEY,
  event_sequence integer NOT NULL
);`;

/**
 * Stores processed notifications in the transaction of your work, in your own PostgreSQL: each notification takes
 * effect once.
 */
export class PostgresStore<Client extends PostgresClient> implements NotificationStore<Client> {
  constructor(private readonly pool: PostgresPool<Client>) {}

  async once(received: Received, work: (client: Client) => Promise<void>): Promise<Outcome> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const outcome = await take(client, received, work);
      await client.query('COMMIT');
      client.release();
      return outcome;
    } catch (error) {
      // After an error, the database connection is closed, because that rolls its transaction back in any state.
      client.release(true);
      throw error;
    }
  }
}

async function take<Client extends PostgresClient>(
  client: Client,
  { id, sequence, notification }: Received,
  work: (client: Client) => Promise<void>,
): Promise<Outcome> {
  const { booking_code } = notification;
  // The lock on the booking's row serializes the notifications of one booking.
  await client.query('INSERT INTO notified_bookings VALUES ($1, 0) ON CONFLICT DO NOTHING', [booking_code]);
  const { rows } = await client.query(
    'SELECT event_sequence FROM notified_bookings WHERE booking_code = $1 FOR UPDATE',
    [booking_code],
  );
  if (id !== null) {
    const taken = await client.query('INSERT INTO taken_notifications VALUES ($1) ON CONFLICT DO NOTHING', [id]);
    if (taken.rowCount === 0) return 'repeat';
  }
  const outcome = outcomeAfter(rows[0].event_sequence, { id, sequence });
  if (outcome !== 'applied') return outcome;
  await work(client);
  await client.query('UPDATE notified_bookings SET event_sequence = $2 WHERE booking_code = $1', [
    booking_code,
    sequence,
  ]);
  return outcome;
}
