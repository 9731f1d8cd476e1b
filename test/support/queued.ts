import type { TestApp } from './app';
import { eventually } from './eventually';
import type { Subscribed } from './subscribed';

/**
 * Creates the given number of bookings, and the partner refuses their events with 400. Afterwards, the partner deletes
 * its list of requests, and answers 200 from then on.
 */
export async function refused(subscribed: Subscribed, n: number): Promise<Record<string, any>[]> {
  subscribed.partner.answer({ status: 400, body: 'unknown candidate' });
  for (let i = 0; i < n; i++) await subscribed.booking();
  const rows = await eventually(async () => {
    const found = await subscribed.queue();
    if (found.length !== n) throw new Error(`${found.length} of ${n} are in the queue.`);
    return found;
  });
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200 });
  return rows;
}

/**
 * Writes the given number of queued notifications to the database, each of a different booking. The notifications look
 * as if the partner had refused each of them with 400.
 */
export async function queueMany({ app, id, scene }: Subscribed, n: number): Promise<void> {
  await app.given.slowSql(
    `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
       effective_date, body, state, retry, failure, http_status, queued_datetime)
     SELECT gen_random_uuid(), $1, $2, 'BOOKING_CREATED', 'M' || lpad(n::text, 9, '0'), 1, now(),
       '{"booking_code": "M' || n || '", "booking_on": "2031-01-01T10:00:00Z", "candidate_id": "C-' || n || '"}',
       'ERROR_QUEUE', 'MANUAL', 'client_error', 400, now()
     FROM generate_series(1, $3::int) AS n`,
    [id, scene.account, n],
  );
}

/** Starts, controls and reads bulk jobs over HTTP. */
export class BulkJobs {
  constructor(
    private readonly app: TestApp,
    private readonly operator: string,
  ) {}

  call(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    return this.app.call(method, `/admin/${path}`, { token: this.operator, body, headers });
  }

  /** Starts a bulk job. Returns its id. */
  async start(path: string, body: object): Promise<string> {
    const answer = await this.call('POST', path, { reason: 'mended', ...body });
    if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body.job_id as string;
  }

  async get(id: string): Promise<Record<string, any>> {
    return (await this.call('GET', `jobs/${id}`)).body;
  }

  /** Waits until the bulk job has the given values of its properties, and returns the job. */
  async having(id: string, members: Record<string, unknown>, withinMs?: number): Promise<Record<string, any>> {
    return eventually(async () => {
      const found = await this.get(id);
      const fits = Object.entries(members).every(([name, value]) => found[name] === value);
      if (!fits) throw new Error(`${JSON.stringify(members)} never came; it is ${JSON.stringify(found)}.`);
      return found;
    }, withinMs);
  }

  async steer(id: string, action: 'pause' | 'resume' | 'abort'): Promise<Record<string, any>> {
    const answer = await this.call('POST', `jobs/${id}/${action}`);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Returns the outcomes of a job's items, in the order in which the job processes them. */
  async outcomes(id: string): Promise<string[]> {
    const { body } = await this.call('GET', `jobs/${id}/items?limit=200`);
    return (body as { outcome: string }[]).map(({ outcome }) => outcome);
  }
}
