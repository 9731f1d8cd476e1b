import type { Story } from './story.js';

/** SQL: the condition that the subscription `s` has selected the event `e`. */
const IS_SELECTED = `(e.data->>'change_reason' = ANY (s.change_reasons) OR e.data->>'change' = ANY (s.record_changes))`;
/** SQL: selects the entries of the change feed about an account's records, numbered separately for each record. */
const NUMBERED = `SELECT svc_eligiblity_id, change,
    row_number() OVER (PARTITION BY svc_eligiblity_id ORDER BY position) AS sequence,
    lag(change) OVER (PARTITION BY svc_eligiblity_id, change ~ '^RESULT', change ~ 'HELD|RELEASED' ORDER BY position) AS before
  FROM changes WHERE account_code = $1`;

/**
 * Compares the stored state with the promises of the service, and with the notifications that the partners received.
 */
export class Judge {
  constructor(private readonly story: Story) {}

  /** Reports the suspected broken promises, except those that a bulk job or the partner's choice of events explains. */
  async lookInto(): Promise<void> {
    const { partners, service } = this.story;
    for (const { url, stream, sequences, promise } of partners.suspicions.splice(0)) {
      const rows = await service.rows(
        `SELECT FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id
         WHERE s.partner_url = $1 AND n.booking_code = $2 AND n.event_sequence = ANY ($3)
           AND EXISTS (SELECT FROM job_items i WHERE i.notification_position = n.position)`,
        [url, stream, sequences],
      );
      const selected = await service.rows(
        `SELECT FROM domain_events e JOIN subscriptions s ON s.partner_url = $1
         WHERE e.stream = $2 AND e.sequence = ANY ($3) AND ${IS_SELECTED}`,
        [url, stream, sequences],
      );
      if (rows.length === 0 && selected.length === sequences.length) partners.breaks(promise);
    }
  }

  /**
   * Checks that each partner has received every event that it selected, except events that wait for an operator. Also
   * checks that the partner received every event that is stored as delivered, and that the counts of jobs are correct.
   */
  async judge(): Promise<void> {
    const { partners, service } = this.story;
    await this.judgeRecords();
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
    const events = await service.rows(
      `SELECT s.partner_url AS url, e.stream, e.sequence FROM domain_events e JOIN subscriptions s ON ${IS_SELECTED}`,
    );
    for (const { url, stream, sequence } of events as { url: string; stream: string; sequence: number }[]) {
      const row = stored.get(`${url} ${stream} ${sequence}`);
      const event = partners.of(url, stream).get(sequence);
      const accepted = event?.accepted === true || event?.acknowledged === true;
      if (row === undefined) partners.breaks('a partner never got an event');
      else if (row['state'] === 'DELIVERED' && !accepted) partners.breaks('DELIVERED without a 200');
      else if (!['DELIVERED', 'RESOLVED'].includes(row['state'] as string) && row['retry'] !== 'MANUAL')
        partners.breaks('neither delivered nor queued');
    }
    if (stored.size !== events.length) partners.breaks('a partner got an event that it has not selected');
  }

  /**
   * Checks that each change of a record raised its event, in the order of the changes, and that no event was raised
   * twice.
   */
  private async judgeRecords(): Promise<void> {
    const { account, partners, service } = this.story;
    const [{ lost, twice }] = await service.rows(
      `SELECT count(*) FILTER (WHERE NOT EXISTS (
           SELECT FROM domain_events e WHERE e.stream = c.svc_eligiblity_id AND e.sequence = c.sequence
             AND e.data->>'change' = c.change))::int AS lost,
         count(*) FILTER (WHERE c.change = c.before AND c.change ~ 'HELD|RELEASED')::int AS twice
       FROM (${NUMBERED}) c`,
      [account],
    );
    if (lost !== 0) partners.breaks('a change of a record raised no event, or one in the wrong place');
    if (twice !== 0) partners.breaks('two decisions about a record did not see each other');
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
