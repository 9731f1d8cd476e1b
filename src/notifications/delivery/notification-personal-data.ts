import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database } from '../../platform/database/database.js';
import {
  ERASED,
  PersonalData,
  PersonalDataHolders,
  withoutPerson,
  type Subject,
} from '../../platform/personal-data.js';
import { namesPerson } from '../../platform/person.js';
import { ABOUT } from './notification-columns.js';

const FIND = {
  text: `SELECT n.position, n.id, n.change_reason, ${ABOUT}, n.event_sequence, n.effective_date, n.body, n.state,
           n.delivered_datetime
         FROM notifications n WHERE n.booking_code = ANY ($1::text[]) ORDER BY n.position`,
  across: acrossAccounts.keyInHand,
};
const FIND_ATTEMPTS = {
  text: `SELECT notification_position, at, duration_ms, trigger, http_status, failure, reason, excerpt
         FROM notification_attempts WHERE notification_position = ANY ($1::bigint[]) ORDER BY notification_position, at`,
};
const REWRITE = {
  text: `UPDATE notifications SET body = rewritten.body FROM unnest($1::bigint[], $2::text[]) AS rewritten (position, body)
         WHERE notifications.position = rewritten.position`,
  across: acrossAccounts.keyInHand,
};
// Deletes the excerpts of partners' responses, because a response may repeat the request's body with the candidate's
// data.
const FORGET_EXCERPTS = {
  text: `UPDATE notification_attempts SET excerpt = NULL
         WHERE notification_position = ANY ($1::bigint[]) AND excerpt IS NOT NULL`,
};
// Finds the reasons that operators gave for resends and resolutions, because a reason may name the candidate. The query
// reads all notifications of the account that have a reason (index notifications_reason_ix).
const FIND_REASONS = {
  text: 'SELECT position, booking_code, reason FROM notifications WHERE account_code = $1 AND reason IS NOT NULL',
};
const REPLACE_REASONS = {
  text: `UPDATE notifications SET reason = '${ERASED}' WHERE position = ANY ($1::bigint[])`,
  across: acrossAccounts.keyInHand,
};
const FIND_IDS = { text: 'SELECT id FROM notifications WHERE account_code = $1 AND booking_code = ANY ($2::text[])' };

interface Row {
  position: number;
  body: string;
}

/** Handles the personal data in a candidate's notifications and in the partners' responses. */
@Injectable()
export class NotificationPersonalData extends PersonalData {
  constructor(
    private readonly database: Database,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export({ svcEligibilityIds, bookingCodes }: Subject): Promise<Record<string, unknown>> {
    const rows = await this.database.query<Row & Record<string, unknown>>(FIND, [
      [...svcEligibilityIds, ...bookingCodes],
    ]);
    const attempts = await this.database.query<Record<string, unknown> & { notification_position: number }>(
      FIND_ATTEMPTS,
      [rows.map((row) => row.position)],
    );
    return {
      notifications: rows.map(({ position, body, ...row }) => ({
        ...row,
        body: JSON.parse(body) as unknown,
        attempts: attempts
          .filter((attempt) => attempt.notification_position === position)
          .map(({ notification_position: _, ...attempt }) => attempt),
      })),
    };
  }

  override async auditSubjects(accountCode: string, codes: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(FIND_IDS, [accountCode, codes]);
    return rows.map(({ id }) => id);
  }

  async erase({ accountCode, svcEligibilityIds, bookingCodes, person }: Subject, pseudonym: string): Promise<void> {
    const codes = [...svcEligibilityIds, ...bookingCodes];
    const rows = await this.database.query<Row>(FIND, [codes]);
    const positions = rows.map((row) => row.position);
    const bodies = rows.map(({ body }) =>
      JSON.stringify(withoutPerson(JSON.parse(body) as Record<string, unknown>, pseudonym)),
    );
    await this.database.execute(REWRITE, [positions, bodies]);
    await this.database.execute(FORGET_EXCERPTS, [positions]);
    const reasons = await this.database.query<{ position: number; booking_code: string; reason: string }>(
      FIND_REASONS,
      [accountCode],
    );
    const own = reasons.filter((row) => codes.includes(row.booking_code) || namesPerson(row.reason, person));
    await this.database.execute(REPLACE_REASONS, [own.map(({ position }) => position)]);
  }
}
