import { declareFaults } from '../platform/errors.js';
import { ApiProperty } from '@nestjs/swagger';
import { candidateIdRule, ELIGIBILITY_STATUSES, type EligibilityStatus } from '../eligibility/eligibility.fields.js';
import { CHANGE_KINDS, CHANGES, type Change, type ChangeKind } from '../platform/changes/change.entity.js';
import { openCursor } from '../platform/http/cursor.js';
import { limitRule } from '../platform/http/paging.js';
import { Field } from '../platform/validation/fields.js';
import { testCodeRule } from '../platform/validation/identifiers.js';
import { dateTime, fault, integer, oneOf, text, type Rule } from '../platform/validation/rules.js';

declareFaults({
  change_unknown: [
    'The value is not a known kind of change.',
    'Use one of the values that the API description lists for the member.',
  ],
});

/**
 * The position of a reader in the change feed. The reader has seen all entries up to the entry with these values. At
 * the beginning of the feed, all values are 0. The position contains more than a transaction id, because transaction
 * ids can be reused after a crash.
 */
export interface FeedPosition {
  readonly generation: number;
  readonly xid: number;
  readonly position: number;
  /** The time at which the entry at this position was recorded, in microseconds since 1970, by the database's clock. */
  readonly recordedUs: number;
  /**
   * The time up to which the reader of the feed has seen every change, in seconds since 1970 by the database's clock.
   */
  readonly completeUntilS: number;
  /** The time at which the cursor was issued, in seconds since 1970. */
  readonly issuedS: number;
}

const FORM = /^feed (\d{1,16}) (\d{1,16}) (\d{1,16}) (\d{1,16}) (\d{1,16}) (\d{1,16})$/;

export function writePosition(at: FeedPosition): string {
  return `feed ${[at.generation, at.xid, at.position, at.recordedUs, at.completeUntilS, at.issuedS].join(' ')}`;
}

/** Returns the position that a cursor contains; null if the cursor does not come from the change feed. */
export function readPosition(cursor: string): FeedPosition | null {
  const numbers = FORM.exec(openCursor(cursor) ?? '')
    ?.slice(1)
    .map(Number);
  if (!numbers) return null;
  const [generation, xid, position, recordedUs, completeUntilS, issuedS] = numbers;
  return { generation, xid, position, recordedUs, completeUntilS, issuedS };
}

const afterText = text({ min: 1, max: 300 });

const after: Rule = {
  schema: {
    ...afterText.schema,
    description:
      '`now`, or the cursor from the Link header of the previous page. Without this parameter, the feed starts at ' +
      'the beginning.',
  },
  faults: (value) => {
    const faults = afterText.faults(value);
    if (faults.length > 0 || value === 'now' || readPosition(value as string)) return faults;
    return [fault('cursor_invalid', 'The cursor was not issued by this feed.')];
  },
};

export class ChangesQuery {
  @Field(after)
  after?: string;

  @Field(limitRule)
  limit?: string;

  @Field(oneOf(CHANGE_KINDS, 'kind_unknown'), { description: 'Only changes of this kind.' })
  kind?: ChangeKind;
}

/** An entry of the change feed, as responses show it. */
export class ChangeModel {
  @Field(text({ max: 300 }), { required: true, description: 'The same whenever the entry is read.' })
  id: string;

  @Field(oneOf(CHANGE_KINDS, 'kind_unknown'), { required: true })
  kind: ChangeKind;

  @Field(oneOf(CHANGES, 'change_unknown'), { required: true })
  change: Change;

  @Field(dateTime(), { required: true })
  at: string;

  @Field(text({ max: 50 }), { required: true })
  svc_eligiblity_id: string;

  @Field(candidateIdRule, { required: true })
  candidate_id: string;

  @Field(testCodeRule, { required: true })
  test_code: string;

  @Field(text({ max: 50 }), { always: true })
  booking_code: string | null;

  @Field(oneOf(ELIGIBILITY_STATUSES, 'status_invalid'), {
    required: true,
    description: 'Of the record, after the change.',
  })
  status: EligibilityStatus;

  @Field(integer(1, 2 ** 31 - 1), {
    always: true,
    description: 'The number of the revision, for a change by a result.',
  })
  revision: number | null;

  @ApiProperty({
    anyOf: [{ $ref: '#/components/schemas/NotificationRequest' }, { type: 'null' }],
    description: 'The NotificationRequest, if partners are notified of the change.',
  })
  notification: object | null;

  @Field(integer(1, 2 ** 31 - 1), { always: true, description: 'The `event-sequence` of the notification.' })
  event_sequence: number | null;
}
