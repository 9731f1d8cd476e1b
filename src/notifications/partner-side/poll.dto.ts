import { OptionalBody } from '../../platform/http/request-form.js';
import { codePoints } from '../../platform/validation/characters.js';
import { Field, ObjectListField } from '../../platform/validation/fields.js';
import { uuidRule } from '../../platform/validation/identifiers.js';
import { boolean, fault, integer, listOf, oneOf, text, type Rule } from '../../platform/validation/rules.js';
import { NOTIFIED_CHANGES, type NotifiedChange } from '../notified-change.js';
import { REFUSAL_REASONS, type Refusal } from '../delivery/poll-offers.js';

const MOST_SETTLED = 1000;
const MOST = 100;
const MAX_ID_LENGTH = 100;

/**
 * The validation rule for an id that a partner sends back. Any text is accepted, because unknown ids are listed in
 * `unknown`.
 */
const settledIdRule: Rule = {
  schema: { type: 'string', maxLength: MAX_ID_LENGTH, example: '5f0c6f0e-6a0b-4b52-9d2f-0c4f0a8e1d3b' },
  faults(value) {
    if (typeof value !== 'string') return [fault('type_invalid', 'Must be a string.')];
    return codePoints(value) > MAX_ID_LENGTH
      ? [fault('too_long', `Must have at most ${MAX_ID_LENGTH} characters.`)]
      : [];
  },
};

/** A notification that the partner refuses. */
export class RefusalBody {
  @Field(settledIdRule, { required: true })
  id: string;

  @Field(oneOf(REFUSAL_REASONS, 'refusal_unknown'), {
    required: true,
    description: 'NO_MATCHING_RECORD has the meaning of the status 400 in the response to a PUT.',
  })
  reason: Refusal['reason'];

  @Field(text({ min: 1, max: 2000, lines: true }), { description: 'A text for the operators of the service.' })
  detail?: string | null;
}

@OptionalBody
export class PollBody {
  @Field(uuidRule, { description: 'When left out, the poll covers all subscriptions of the caller.' })
  subscription_id?: string | null;

  @Field(integer(1, MOST), { description: 'Maximum number of notifications. When left out, this is 20.' })
  max?: number | null;

  @Field(boolean(), {
    description: 'When left out or false, the service waits up to 30 s for the first notification.',
  })
  return_immediately?: boolean | null;

  @Field(integer(10, 600), {
    description: 'Seconds within which the notifications must be acknowledged or refused. When left out, these are 60.',
  })
  lease_s?: number | null;

  @Field(listOf(settledIdRule, MOST_SETTLED), { description: 'The notifications that were processed.' })
  ack?: string[] | null;

  @ObjectListField(() => RefusalBody, MOST_SETTLED, { description: 'The notifications that cannot be processed.' })
  refuse?: RefusalBody[] | null;
}

class PolledNotification {
  @Field(uuidRule, { required: true, description: 'The `webhook-id`.' })
  id: string;

  @Field(integer(1, 2 ** 31 - 1), { required: true })
  event_sequence: number;

  @Field(oneOf(NOTIFIED_CHANGES, 'change_reason_unknown'), { required: true })
  change_reason: NotifiedChange;

  @Field(text({ max: 1_000_000, lines: true }), {
    required: true,
    description:
      'The JSON text of the NotificationRequest or, for a change of a record, of its entry in the change feed. It has exactly the bytes that a PUT would send.',
  })
  body: string;
}

export class PollAnswer {
  @ObjectListField(() => PolledNotification, MOST, {
    required: true,
    description: 'The leased notifications, oldest first.',
  })
  notifications: PolledNotification[];

  @Field(boolean(), { required: true, description: 'Whether further notifications can be polled now.' })
  more_available: boolean;

  @Field(listOf(settledIdRule, 2 * MOST_SETTLED), {
    required: true,
    description:
      'Ids in `ack` and `refuse` that were ignored, because this caller does not or no longer lease them. Each is listed as it was sent.',
  })
  unknown: string[];
}
