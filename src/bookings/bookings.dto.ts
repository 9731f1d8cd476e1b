import { candidateIdRule } from '../eligibility/eligibility.fields.js';
import { Field } from '../platform/validation/fields.js';
import { AccountPath, testCodeRule } from '../platform/validation/identifiers.js';
import { timeZone } from '../platform/validation/formats.js';
import { boolean, dateTime, fault, oneOf, text, type Rule } from '../platform/validation/rules.js';
import { BOOKING_STATUSES, DELIVERY_MODES, type BookingStatus, type DeliveryMode } from './bookings.rules.js';
import { declareFaults } from '../platform/errors.js';

declareFaults({
  status_invalid: [
    'The value is not a known status of a booking.',
    'Use one of the values that the API description lists for `status`, in upper or lower case.',
  ],
  delivery_mode_invalid: ['The value is not a known delivery mode.', 'Use SITE_PROCTORED or SVC_REMOTE_PROCTORED.'],
});

export const locationCodeRule = text({ min: 1, max: 50, example: 'TC-042' });
export const locationNameRule = text({ max: 200, notBlank: true, example: 'Springfield Test Center' });
export const locationAddressRule = text({ max: 500, notBlank: true, example: '1 Main St, Springfield, IL' });
export const bookingCodeRule = text({ min: 1, max: 50, example: 'B7K2M9QX4T' });

/** The body of a request that creates or moves a booking. */
export class BookingRequest {
  @Field(dateTime(), { required: true, description: 'Start of the appointment.' })
  booking_on: string;

  @Field(oneOf(DELIVERY_MODES, 'delivery_mode_invalid'), { required: true })
  delivery_mode: DeliveryMode;

  @Field(locationCodeRule, {
    description:
      'Required for SITE_PROCTORED, and not allowed otherwise. The code is usually alphanumeric, but any text is ' +
      'accepted and sent to partners unchanged.',
  })
  location_code?: string | null;

  @Field(locationNameRule, { description: 'Required for SITE_PROCTORED, and not allowed otherwise.' })
  location_name?: string | null;

  @Field(locationAddressRule, { description: 'Required for SITE_PROCTORED, and not allowed otherwise.' })
  location_address?: string | null;

  @Field(timeZone(), {
    description:
      'The time zone of the test site or, for SVC_REMOTE_PROCTORED, the time zone that the candidate chose, if any.',
  })
  location_timezone?: string | null;

  @Field(boolean(), {
    description: 'With true, another open booking of the candidate may be at the same time.',
  })
  allow_overlap?: boolean | null;
}

/** The rule for the `status` query parameter. As for eligibilities, a status is accepted in upper or lower case. */
const statusFilter: Rule = {
  schema: oneOf(BOOKING_STATUSES, 'status_invalid', { anyCase: true }).schema,
  faults: (value) =>
    typeof value === 'string' && /^[a-z_]+$/i.test(value) && BOOKING_STATUSES.some((one) => one === value.toUpperCase())
      ? []
      : [fault('status_invalid', `Must be one of ${BOOKING_STATUSES.join(', ')}, in any case.`)],
};

/** The query parameters that filter a candidate's bookings. */
export class BookingsQuery {
  @Field(statusFilter)
  status?: string;

  @Field(testCodeRule)
  test_code?: string;
}

export class AbsenceRequest {
  @Field(boolean(), { required: true })
  excused: boolean;
}

/** The Booking model of the specification. */
export class BookingModel {
  @Field(bookingCodeRule, { required: true })
  booking_code: string;

  @Field(text({ max: 8 }), { required: true })
  svc_eligiblity_id: string;

  @Field(candidateIdRule, { required: true })
  candidate_id: string;

  @Field(testCodeRule, { required: true })
  test_code: string;

  @Field(oneOf(BOOKING_STATUSES, 'format_invalid'), { required: true })
  status: BookingStatus;

  @Field(dateTime(), { required: true })
  booking_on: string;

  @Field(oneOf(DELIVERY_MODES, 'delivery_mode_invalid'), { always: true })
  delivery_mode: DeliveryMode | null;

  @Field(locationCodeRule, { always: true })
  location_code: string | null;

  @Field(locationNameRule, { always: true })
  location_name: string | null;

  @Field(locationAddressRule, { always: true })
  location_address: string | null;

  @Field(timeZone(), { always: true })
  location_timezone: string | null;

  @Field(dateTime(), { required: true })
  created_datetime: string;

  @Field(dateTime(), { required: true })
  updated_datetime: string;
}

export class BookingPath extends AccountPath {
  @Field(bookingCodeRule, { required: true })
  booking_code: string;
}
