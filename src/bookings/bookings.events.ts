import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { Change } from '../platform/changes/change.entity.js';
import { DomainEvent, StoredEvent } from '../platform/events/domain-event.js';
import { timeZone } from '../platform/validation/formats.js';
import { catalogueCode, dateTime, text } from '../platform/validation/rules.js';
import {
  candidateIdRule,
  clientEligibilityIdRule,
  MOST_PORTIONS,
  personNameRule,
} from '../eligibility/eligibility.fields.js';
import { bookingCodeRule, locationAddressRule, locationCodeRule, locationNameRule } from './bookings.dto.js';

/** The booking changes about which partners are notified, as the specification names them. */
export const CHANGE_REASONS = [
  'BOOKING_CREATED',
  'BOOKING_CANCELLED',
  'BOOKING_RESCHEDULED',
  'EXAM_COMPLETED',
  'EXCUSED_ABSENT',
  'ABSENT',
] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

/** The names that booking events have in the change feed. */
export const FEED_CHANGES: Record<ChangeReason, Change> = {
  BOOKING_CREATED: 'SCHEDULED',
  BOOKING_CANCELLED: 'BOOKING_CANCELLED',
  BOOKING_RESCHEDULED: 'RESCHEDULED',
  EXAM_COMPLETED: 'RESULT_RECEIVED',
  EXCUSED_ABSENT: 'EXCUSED_ABSENT',
  ABSENT: 'ABSENT',
};

const UTC = dateTime().schema;

class NotifiedPortion {
  /** The code of the test portion, as in the client's catalogue. */
  @ApiProperty({ ...catalogueCode().schema, description: "The client's code of the portion." })
  portion_code: string;

  @ApiPropertyOptional(text({ max: 200, notBlank: true }).schema)
  portion_name?: string;
}

/**
 * The specification's NotificationRequest, which describes the booking at the time of the event. Members without a
 * value are omitted, and members are sorted by name. The JSON text of the NotificationRequest is stored with the event,
 * and copied to every notification, every attempt and the change feed.
 */
export class NotificationRequest {
  /** The booking code of the appointment. */
  @ApiProperty({ ...bookingCodeRule.schema, description: 'The code of the appointment.' })
  booking_code: string;

  /** The start of the booking, in the form `YYYY-MM-DDThh:mm:ssZ`. */
  @ApiProperty({ ...UTC, description: 'Start of the booking.' })
  booking_on: string;

  @ApiProperty(personNameRule.schema)
  candidate_fname: string;

  @ApiProperty({ ...candidateIdRule.schema, description: "The customer's id of the candidate." })
  candidate_id: string;

  @ApiProperty(personNameRule.schema)
  candidate_lname: string;

  @ApiPropertyOptional(personNameRule.schema)
  candidate_mname?: string;

  /** The change that caused the event. */
  @ApiProperty({ type: String, enum: CHANGE_REASONS, description: 'The change that caused the event.' })
  change_reason: ChangeReason;

  @ApiPropertyOptional(clientEligibilityIdRule.schema)
  client_eligibility_id?: string;

  @ApiPropertyOptional({ type: String, enum: ['SITE_PROCTORED', 'SVC_REMOTE_PROCTORED'] })
  delivery_mode?: 'SITE_PROCTORED' | 'SVC_REMOTE_PROCTORED';

  /**
   * The time at which the event was generated, in whole seconds, as `YYYY-MM-DDThh:mm:ssZ`. This member is always
   * present. Each event of an eligibility record is later than the record's previous event.
   */
  @ApiProperty({
    ...UTC,
    description:
      'The second at which the event was generated. It strictly increases for each eligibility record, so events ' +
      'can be sorted by it.',
  })
  effective_date: string;

  /** The id of the exam in a system outside this service, from the definition of the test. */
  @ApiPropertyOptional({ ...text({ max: 50, notBlank: true }).schema, description: 'The exam code of the test.' })
  exam_code?: string;

  @ApiPropertyOptional({ type: () => NotifiedPortion, isArray: true, maxItems: MOST_PORTIONS })
  exam_portions?: NotifiedPortion[];

  /**
   * The address of the test site. Like the other members about the test site, it is present only for SITE_PROCTORED.
   */
  @ApiPropertyOptional({
    ...locationAddressRule.schema,
    description: 'Address of the test site; only for SITE_PROCTORED.',
  })
  location_address?: string;

  @ApiPropertyOptional({ ...locationCodeRule.schema, description: 'Code of the test site; only for SITE_PROCTORED.' })
  location_code?: string;

  @ApiPropertyOptional({ ...locationNameRule.schema, description: 'Name of the test site; only for SITE_PROCTORED.' })
  location_name?: string;

  /**
   * The IANA name of the time zone: the zone of the test site or, for SVC_REMOTE_PROCTORED, the zone that the candidate
   * chose.
   */
  @ApiPropertyOptional({
    ...timeZone().schema,
    description: 'IANA name of the time zone: that of the test site, or the one that the candidate chose.',
  })
  location_timezone?: string;
}

/**
 * An event of a booking. In its `meta`, `stream` is the booking code, `sequence` is the `event-sequence`, and
 * `occurredAt` is the `effective_date`.
 */
export abstract class BookingEvent extends DomainEvent<NotificationRequest> {}

@StoredEvent('booking.created')
export class BookingCreated extends BookingEvent {
  static readonly changeReason = 'BOOKING_CREATED';
}

@StoredEvent('booking.cancelled')
export class BookingCancelled extends BookingEvent {
  static readonly changeReason = 'BOOKING_CANCELLED';
}

@StoredEvent('booking.rescheduled')
export class BookingRescheduled extends BookingEvent {
  static readonly changeReason = 'BOOKING_RESCHEDULED';
}

@StoredEvent('booking.exam-completed')
export class ExamCompleted extends BookingEvent {
  static readonly changeReason = 'EXAM_COMPLETED';
}

@StoredEvent('booking.excused-absent')
export class ExcusedAbsent extends BookingEvent {
  static readonly changeReason = 'EXCUSED_ABSENT';
}

@StoredEvent('booking.absent')
export class Absent extends BookingEvent {
  static readonly changeReason = 'ABSENT';
}
