import { Field, ObjectListField } from '../platform/validation/fields.js';
import { boolean, dateTime, listOf, oneOf, text } from '../platform/validation/rules.js';
import { ACTIONS, type Action } from './eligibility.rules.js';
import { FoundEligibilityModel } from './search.fields.js';

/** A special accommodation, with its name from the catalogue. */
export class NamedAccommodationModel {
  @Field(text({ max: 50 }), { required: true, description: 'The code of the accommodation.' })
  accommodation_code: string;

  @Field(text({ max: 200 }), { always: true, description: 'The name; null if the accommodation was deleted.' })
  name: string | null;
}

/**
 * An eligibility record as operators see it, with the allowed actions and the reason why the record waits for a
 * decision.
 */
export class OperatorEligibilityModel extends FoundEligibilityModel {
  @Field(text({ max: 1000, lines: true }), {
    always: true,
    description: 'The reason for the hold; null if the record is not on hold.',
  })
  hold_reason: string | null;

  @ObjectListField(() => NamedAccommodationModel, 20, {
    required: true,
    description: 'The special accommodations of the candidate, with their names.',
  })
  accommodations: NamedAccommodationModel[];

  @Field(boolean(), { required: true, description: 'Whether special accommodations wait for approval.' })
  approval_pending: boolean;

  @Field(text({ max: 1000, lines: true }), {
    always: true,
    description: 'The reason why the special accommodations were declined; null if they were not.',
  })
  decline_reason: string | null;

  @Field(text({ max: 50 }), { always: true, description: 'The open booking.' })
  booking_code: string | null;

  @Field(dateTime(), { always: true })
  booking_on: string | null;

  @Field(listOf(text({ max: 50 }), 20), { required: true })
  voucher_codes: string[];

  @Field(listOf(oneOf(ACTIONS, 'action_unknown'), ACTIONS.length), {
    required: true,
    description:
      'The actions that the state of the record allows now. A launch also requires that the test has a `launch_url`.',
  })
  allows: Action[];

  @Field(dateTime(), { required: true })
  updated_datetime: string;
}
