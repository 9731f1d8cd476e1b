import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database } from './database/database.js';
import { namesPerson } from './person.js';
import { ERASED, PersonalData, PersonalDataHolders, withoutPerson, type Subject } from './personal-data.js';

const FIND_EVENTS = {
  text: `SELECT event_id, name, stream, sequence, occurred_at, data FROM domain_events WHERE stream = ANY ($1::text[])
         ORDER BY stream, sequence`,
  across: acrossAccounts.keyInHand,
};
const REWRITE_EVENTS = {
  text: `UPDATE domain_events SET data = rewritten.data
         FROM unnest($1::uuid[], $2::json[]) AS rewritten (event_id, data)
         WHERE domain_events.event_id = rewritten.event_id`,
  across: acrossAccounts.keyInHand,
};
/** The number of stored responses that one statement searches. */
const ANSWERS_AT_ONCE = 5_000;
// Reads a batch of the stored responses. The `is_own` column marks a response to a request about the candidate: the
// audit entries of that request, or the response itself, contain the id of one of the candidate's records or the code
// of a booking.
const READ_KEYS = {
  text: `SELECT consumer_key, username, idempotency_key,
           subjects && $1 OR EXISTS (SELECT FROM unnest($1::text[]) AS code WHERE strpos(body, code) > 0) AS is_own
         FROM idempotency_keys WHERE (consumer_key, username, idempotency_key) > ($2, $3, $4)
         ORDER BY consumer_key, username, idempotency_key LIMIT ${ANSWERS_AT_ONCE}`,
};
const FORGET_KEYS = {
  text: `DELETE FROM idempotency_keys kept USING unnest($1::text[], $2::text[], $3::text[]) AS own (consumer_key, username, key)
         WHERE (kept.consumer_key, kept.username, kept.idempotency_key) = (own.consumer_key, own.username, own.key)`,
};
// Finds the reasons that operators gave for jobs. Jobs without an account are included, because they may concern any
// account.
const FIND_REASONS = {
  text: 'SELECT id, reason FROM jobs WHERE account_code = $1 OR account_code IS NULL',
  across: acrossAccounts.matching,
};
const REPLACE_REASONS = {
  text: `UPDATE jobs SET reason = '${ERASED}' WHERE id = ANY ($1::uuid[])`,
  across: acrossAccounts.keyInHand,
};

interface Key {
  consumer_key: string;
  username: string;
  idempotency_key: string;
  is_own: boolean;
}
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
const FIND_NOTIFIED = {
  text: `SELECT position, notification FROM changes WHERE ${OF_RECORDS} AND notification IS NOT NULL`,
};
const REWRITE_NOTIFIED = {
  text: `UPDATE changes SET notification = rewritten.notification
         FROM unnest($3::bigint[], $4::json[]) AS rewritten (position, notification)
         WHERE ${OF_RECORDS} AND changes.position = rewritten.position`,
};

interface EventRow {
  event_id: string;
  data: Record<string, unknown>;
}

/**
 * Handles personal data in the tables of the platform: events, the change feed, stored responses and the reasons for
 * jobs. The audit log needs no handling, because it contains only codes.
 */
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
      events: await this.database.query(FIND_EVENTS, [codes]),
      changes: await this.database.query(FIND_CHANGES, [accountCode, svcEligibilityIds]),
      audit: await this.database.query(FIND_AUDIT, [codes]),
    };
  }

  async erase(subject: Subject, pseudonym: string): Promise<void> {
    const { accountCode, svcEligibilityIds, bookingCodes, person } = subject;
    const streams = [...svcEligibilityIds, ...bookingCodes];
    const events = await this.database.query<EventRow>(FIND_EVENTS, [streams]);
    await this.database.execute(REWRITE_EVENTS, [
      events.map((event) => event.event_id),
      events.map((event) => JSON.stringify(withoutPerson(event.data, pseudonym))),
    ]);
    const ofRecords = [accountCode, svcEligibilityIds];
    await this.database.execute(RENAME_CHANGES, [...ofRecords, pseudonym]);
    const entries = await this.database.query<{ position: number; notification: Record<string, unknown> }>(
      FIND_NOTIFIED,
      ofRecords,
    );
    await this.database.execute(REWRITE_NOTIFIED, [
      ...ofRecords,
      entries.map((entry) => entry.position),
      entries.map((entry) => JSON.stringify(withoutPerson(entry.notification, pseudonym))),
    ]);
    await this.forgetKeys(subject);
    const reasons = await this.database.query<{ id: string; reason: string }>(FIND_REASONS, [accountCode]);
    const named = reasons.filter(({ reason }) => namesPerson(reason, person));
    await this.database.execute(REPLACE_REASONS, [named.map(({ id }) => id)]);
  }

  /**
   * Deletes the stored responses to requests about the candidate. Responses are kept for a day and have no index by
   * candidate, so all of them are read in batches.
   */
  private async forgetKeys(subject: Subject): Promise<void> {
    const codes = [...subject.svcEligibilityIds, ...subject.bookingCodes, ...subject.otherSubjects];
    for (let after = ['', '', '']; ;) {
      const stretch = await this.database.query<Key>(READ_KEYS, [codes, ...after]);
      if (stretch.length === 0) return;
      const own = stretch.filter((key) => key.is_own || namesPerson(key.idempotency_key, subject.person));
      const columns = [
        own.map((key) => key.consumer_key),
        own.map((key) => key.username),
        own.map((key) => key.idempotency_key),
      ];
      await this.database.execute(FORGET_KEYS, columns);
      const { consumer_key, username, idempotency_key } = stretch.at(-1)!;
      after = [consumer_key, username, idempotency_key];
    }
  }
}
