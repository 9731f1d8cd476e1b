import type { Story } from './story.js';

/** Compares the stored state with the promises and with the partners' notifications. */
export class Judge {
  constructor(private readonly story: Story) {}

  /** Throws the error of a suspected broken promise, unless a bulk job explains the observation. */
  async lookInto(): Promise<void> {
    const { partners, service } = this.story;
    for (const { url, booking, sequences, promise } of partners.suspicions.splice(0)) {
      const rows = await service.rows(
        `SELECT FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id
         WHERE s.partner_url = $1 AND n.booking_code = $2 AND n.event_sequence = ANY ($3)
           AND EXISTS (SELECT FROM job_items i WHERE i.notification_position = n.position)`,
        [url, booking, sequences],
      );
      if (rows.length === 0) partners.breaks(promise);
    }
  }

  /**
   * Checks that every event has reached both partners or waits for an operator, that delivered events were delivered,
   * and that jobs end with correct sums.
   */
  async judge(): Promise<void> {
    const { partners, service, urls } = this.story;
    const [{ wrong }] = await service.rows(
      `SELECT count(*)::int AS wrong FROM job_parts p JOIN jobs j ON j.id = p.job_id
       WHERE p.sent <> p.delivered + p.failed OR j.state = 'DONE' AND p.waiting > 0`,
    );
    if (wrong !== 0) partners.breaks('a job has lost count of its items');
    const rows = await service.rows(
      `SELECT s.partner_url, n.booking_code, n.event_sequence, n.state, n.retry
       FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id`,
    );
    const stored = new Map(
      rows.map((row) => [`${row['partner_url']} ${row['booking_code']} ${row['event_sequence']}`, row]),
    );
    const events = await service.rows('SELECT stream, sequence FROM domain_events');
    for (const url of urls)
      for (const { stream, sequence } of events) {
        const row = stored.get(`${url} ${stream} ${sequence}`);
        const accepted = partners.of(url, stream as string).get(sequence as number)?.accepted === true;
        if (row === undefined) partners.breaks('a partner was never told of an event');
        else if (row['state'] === 'DELIVERED' && !accepted) partners.breaks('DELIVERED without a 200');
        else if (!['DELIVERED', 'RESOLVED'].includes(row['state'] as string) && row['retry'] !== 'MANUAL')
          partners.breaks('neither delivered nor queued');
      }
  }

  /** Returns whether nothing is left to send and no job is running. */
  async isAllDone(): Promise<boolean> {
    const [{ left }] = await this.story.service.rows(
      `SELECT (SELECT count(*) FROM deliveries)::int + (SELECT count(*) FROM domain_events WHERE settled_at IS NULL)::int
         + (SELECT count(*) FROM subscriptions WHERE state = 'SUSPENDED')::int
         + (SELECT count(*) FROM jobs WHERE state NOT IN ('DONE', 'ABORTED'))::int AS left`,
    );
    return left === 0;
  }

  async tellWhatIsStored(): Promise<void> {
    for (const { line } of await this.story.service.rows(
      `SELECT concat_ws(' ', s.partner_url, s.health, s.state, n.booking_code, n.event_sequence, n.state, n.retry, '/',
         d.trigger, d.job_id, d.lease_token, d.leased_until - simulated.clock_timestamp()) AS line
       FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id
         LEFT JOIN deliveries d ON d.subscription_id = s.id AND d.notification_position = n.position
       ORDER BY s.partner_url, n.booking_code, n.event_sequence`,
    ))
      this.story.tell(line as string);
  }
}
