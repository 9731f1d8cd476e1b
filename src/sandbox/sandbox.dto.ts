import { CHANGE_REASONS, type ChangeReason } from '../bookings/bookings.events.js';
import { Field } from '../platform/validation/fields.js';
import { dateTime, integer, oneOf, text, type Rule } from '../platform/validation/rules.js';

const bookingCode = text({ min: 1, max: 50, example: 'B7K2M9QX4T' });
const changeReason = oneOf(CHANGE_REASONS, 'change_reason_unknown');
const anyText = text({ max: 1_000_000, lines: true });
const headers: Rule = { schema: { type: 'object', additionalProperties: true }, faults: () => [] };
const LONGEST_S = 7000 * 366 * 86_400;

/** The current time of the sandbox. */
export class ClockModel {
  @Field(dateTime(), { required: true })
  now: string;
}

/** A request to move the sandbox's clock. Exactly one of the two members must be given. */
export class ClockMove {
  @Field(integer(0, LONGEST_S), {
    description: 'The number of seconds by which to move the clock forward.',
    example: 86_400,
  })
  advance_s?: number | null;

  @Field(dateTime(), { description: 'The new time, which must not be earlier than the current one.' })
  now?: string | null;
}

/** A request to raise an event of a booking. */
export class EventRequest {
  @Field(bookingCode, { required: true })
  booking_code: string;

  @Field(changeReason, { required: true, example: 'BOOKING_RESCHEDULED' })
  change_reason: ChangeReason;
}

export class ReceivedQuery {
  @Field(bookingCode, { description: 'Only requests about this booking.' })
  booking_code?: string;
}

/** A request that the sandbox's own partner has received. */
export class ReceivedModel {
  @Field(dateTime(), { required: true, description: 'The time of arrival, by the clock of the sandbox.' })
  received_datetime: string;

  @Field(anyText, { required: true, example: 'PUT' })
  method: string;

  @Field(anyText, { required: true, example: '/200/notifications' })
  path: string;

  @Field(headers, {
    required: true,
    description: 'The headers, with names in lower case.',
    example: { 'content-type': 'application/json' },
  })
  headers: Record<string, unknown>;

  @Field(anyText, {
    required: true,
    description: 'The body as it was received, so that its signature can be verified.',
  })
  body: string;
}
