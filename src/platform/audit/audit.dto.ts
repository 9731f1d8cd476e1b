import { formatDateTime } from '../clock.js';
import { PageQuery } from '../http/paging.js';
import { Field } from '../validation/fields.js';
import { boolean, dateTime, integer, listOf, text } from '../validation/rules.js';
import type { AuditRow } from './audit-row.entity.js';

export class AuditQuery extends PageQuery {
  @Field(text({ min: 1, max: 200 }))
  actor?: string;

  @Field(text({ min: 1, max: 200 }))
  action?: string;

  @Field(text({ min: 1, max: 200 }))
  subject?: string;

  @Field(text({ min: 1, max: 50 }))
  account_code?: string;

  @Field(dateTime(), { description: 'The start of the period, included.' })
  from?: string;

  @Field(dateTime('end'), { description: 'The end of the period, excluded.' })
  to?: string;
}

export class AuditEntryModel {
  @Field(integer(1, Number.MAX_SAFE_INTEGER), { required: true })
  id: number;

  @Field(dateTime(), { required: true })
  at: string;

  @Field(text({ max: 200 }), { required: true, description: 'User name of the caller, or `system`.' })
  actor: string;

  @Field(text({ max: 64 }), { description: 'Consumer key of the application that sent the request.' })
  application: string | null;

  @Field(text({ max: 64 }), { description: 'The account to which the subject belongs.' })
  account_code: string | null;

  @Field(text({ max: 200 }), { required: true })
  action: string;

  @Field(text({ max: 200 }), { required: true })
  subject: string;

  @Field(text({ max: 64 }))
  request_id: string | null;

  @Field(listOf(text({ max: 200 }), 200), {
    required: true,
    description:
      'Names of the members that changed, never their values. The list is empty if the action alone describes the change.',
  })
  changed: string[];

  @Field(integer(1, 1e9), {
    description: 'Number of refused requests, or of polled notifications, that the row combines.',
  })
  count: number | null;

  @Field(text({ max: 200 }), { description: 'Pseudonym of the address from which a refused caller sent the requests.' })
  address: string | null;
}

const count = integer(0, Number.MAX_SAFE_INTEGER);

/** The state of the audit log's seals, as the API shows it. */
export class AuditSealModel {
  @Field(count, {
    always: true,
    description: 'The highest id of a row that a seal covers; null before the first seal.',
  })
  sealed_through: number | null;

  @Field(dateTime(), { always: true })
  last_seal_datetime: string | null;

  @Field(text({ max: 64 }), {
    always: true,
    description:
      'The newest seal, in hexadecimal. Keep a copy elsewhere, so that a later change of the log can be detected.',
  })
  last_seal: string | null;

  @Field(count, {
    required: true,
    description: 'Number of rows of the last seconds that have no seal yet, counted up to 10,000.',
  })
  waiting: number;

  @Field(dateTime(), { always: true })
  oldest_waiting_datetime: string | null;

  @Field(count, { required: true, description: 'Number of seals that were compared with their rows.' })
  checked_seals: number;

  @Field(count, { required: true })
  checked_rows: number;

  @Field(boolean(), { required: true })
  agrees: boolean;

  @Field(count, { always: true, description: 'The first row that does not agree with its seal.' })
  from_row: number | null;

  @Field(text({ max: 200 }), { always: true })
  because: string | null;
}

export function presentAuditRow({ at, ...row }: AuditRow): AuditEntryModel {
  return { ...row, at: formatDateTime(at), changed: row.changed ?? [] };
}
