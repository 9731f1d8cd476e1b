import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database } from './database/database.js';
import { PersonalData, PersonalDataHolders, withoutPerson, type Subject } from './personal-data.js';

const FIND_EVENTS = {
  text: `SELECT event_id, name, stream, sequence, occurred_at, data FROM domain_events WHERE stream = ANY ($1::text[])
         ORDER BY stream, sequence`,
  across: acrossAccounts.keyInHand,
};
const REWRITE_EVENTS = {
  text: `UPDATE domain_events SET data = rewritten.data
         FROM unnest($1::uuid[], $2::jsonb[]) AS rewritten (event_id, data)
         WHERE domain_events.event_id = rewritten.event_id`,
  across: acrossAccounts.keyInHand,
};
/** Kept answers that are looked through in one statement. */
const ANSWERS_AT_ONCE = 5_000;
// An answer tells the id of the record or the code of the booking that it is about; what it is about goes with it.
const FORGET_ANSWERS = {
  text: `WITH stretch AS MATERIALIZED (
           SELECT consumer_key, username, idempotency_key, body FROM idempotency_keys
           WHERE (consumer_key, username, idempotency_key) > ($2, $3, $4)
           ORDER BY consumer_key, username, idempotency_key LIMIT ${ANSWERS_AT_ONCE}),
         forgotten AS (
           DELETE FROM idempotency_keys kept USING stretch
           WHERE (kept.consumer_key, kept.username, kept.idempotency_key)
               = (stretch.consumer_key, stretch.username, stretch.idempotency_key)
             AND EXISTS (SELECT FROM unnest($1::text[]) AS code WHERE strpos(stretch.body, code) > 0))
         SELECT consumer_key, username, idempotency_key FROM stretch
         ORDER BY consumer_key DESC, username DESC, idempotency_key DESC LIMIT 1`,
};
const FIND_AUDIT = {
  text: `SELECT at, actor, action, subject, request_id FROM audit_log WHERE subject = ANY ($1::text[]) ORDER BY id`,
  across: acrossAccounts.keyInHand,
};

const OF_RECORDS = 'account_code = $1 AND svc_eligiblity_id = ANY ($2::text[])';
const FIND_CHANGES = {
  text: `SELECT kind, change, at, svc_eligiblity_id, candidate_id, test_code, booking_code, status, revision
         FROM changes WHERE ${OF_RECORDS} ORDER BY generation, xid, position`,
};
const RENAME_CHANGES = { text: `UPDATE changes SET candidate_id = $3 WHERE ${OF_RECORDS}` };
const FIND_TOLD = {
  text: `SELECT position, notification FROM changes WHERE ${OF_RECORDS} AND notification IS NOT NULL`,
};
const REWRITE_TOLD = {
  text: `UPDATE changes SET notification = rewritten.notification
         FROM unnest($3::bigint[], $4::json[]) AS rewritten (position, notification)
         WHERE ${OF_RECORDS} AND changes.position = rewritten.position`,
};

interface EventRow {
  event_id: string;
  data: Record<string, unknown>;
}

/** What the ground floor holds about candidates: events, the change feed, kept answers. The audit log names codes alone. */
@Injectable()
export class PlatformPersonalData extends PersonalData {
  constructor(
    private readonly database: Database,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export({ accountCode, svcEligibilityIds, bookingCodes }: Subject): Promise<Record<string, unknown>> {
    const codes = [...svcEligibilityIds, ...bookingCodes];
    return {
      events: await this.database.query(FIND_EVENTS, [bookingCodes]),
      changes: await this.database.query(FIND_CHANGES, [accountCode, svcEligibilityIds]),
      audit: await this.database.query(FIND_AUDIT, [codes]),
    };
  }

  async erase({ accountCode, svcEligibilityIds, bookingCodes }: Subject, pseudonym: string): Promise<void> {
    const events = await this.database.query<EventRow>(FIND_EVENTS, [bookingCodes]);
    await this.database.execute(REWRITE_EVENTS, [
      events.map((event) => event.event_id),
      events.map((event) => JSON.stringify(withoutPerson(event.data, pseudonym))),
    ]);
    const ofRecords = [accountCode, svcEligibilityIds];
    await this.database.execute(RENAME_CHANGES, [...ofRecords, pseudonym]);
    const told = await this.database.query<{ position: number; notification: Record<string, unknown> }>(
      FIND_TOLD,
      ofRecords,
    );
    await this.database.execute(REWRITE_TOLD, [
      ...ofRecords,
      told.map((entry) => entry.position),
      told.map((entry) => JSON.stringify(withoutPerson(entry.notification, pseudonym))),
    ]);
    await this.forgetAnswers([...svcEligibilityIds, ...bookingCodes]);
  }

  /** Nothing in an answer is indexed: all are read, a stretch at a time; there is a day of them. */
  private async forgetAnswers(codes: string[]): Promise<void> {
    for (let after = ['', '', '']; ;) {
      const last = await this.database.queryOne<Record<string, string>>(FORGET_ANSWERS, [codes, ...after]);
      if (last === null) return;
      after = [last['consumer_key'], last['username'], last['idempotency_key']];
    }
  }
}
