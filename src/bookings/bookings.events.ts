import type { Change } from '../platform/changes/change.entity.js';
import { DomainEvent, StoredEvent } from '../platform/events/domain-event.js';

/** The kinds of event on a candidate's assessment record that partners are told of. */
export const CHANGE_REASONS = [
  'BOOKING_CREATED',
  'BOOKING_CANCELLED',
  'BOOKING_RESCHEDULED',
  'EXAM_COMPLETED',
  'EXCUSED_ABSENT',
  'ABSENT',
] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

/** What the change feed calls the same. */
export const FEED_CHANGES: Record<ChangeReason, Change> = {
  BOOKING_CREATED: 'SCHEDULED',
  BOOKING_CANCELLED: 'BOOKING_CANCELLED',
  BOOKING_RESCHEDULED: 'RESCHEDULED',
  EXAM_COMPLETED: 'RESULT_RECEIVED',
  EXCUSED_ABSENT: 'EXCUSED_ABSENT',
  ABSENT: 'ABSENT',
};

/**
 * The booking as it stood when the event was generated, in the words of the NotificationRequest.
 * Members without a value are null here. `booking_on` is `YYYY-MM-DDThh:mm:ssZ`.
 */
export interface BookingSnapshot {
  booking_code: string;
  booking_on: string;
  candidate_fname: string;
  candidate_mname: string | null;
  candidate_lname: string;
  candidate_id: string;
  client_eligibility_id: string | null;
  delivery_mode: 'SITE_PROCTORED' | 'SVC_REMOTE_PROCTORED' | null;
  exam_code: string | null;
  exam_portions: { portion_code: string; portion_name: string | null }[];
  location_code: string | null;
  location_name: string | null;
  location_address: string | null;
  location_timezone: string | null;
}

/** Stream: the booking code. `meta.sequence` is the `event-sequence`, `meta.occurredAt` the `effective_date`. */
export abstract class BookingEvent extends DomainEvent<BookingSnapshot> {
  abstract readonly changeReason: ChangeReason;
}

@StoredEvent('booking.created')
export class BookingCreated extends BookingEvent {
  readonly changeReason = 'BOOKING_CREATED';
}

@StoredEvent('booking.cancelled')
export class BookingCancelled extends BookingEvent {
  readonly changeReason = 'BOOKING_CANCELLED';
}

@StoredEvent('booking.rescheduled')
export class BookingRescheduled extends BookingEvent {
  readonly changeReason = 'BOOKING_RESCHEDULED';
}

@StoredEvent('booking.exam-completed')
export class ExamCompleted extends BookingEvent {
  readonly changeReason = 'EXAM_COMPLETED';
}

@StoredEvent('booking.excused-absent')
export class ExcusedAbsent extends BookingEvent {
  readonly changeReason = 'EXCUSED_ABSENT';
}

@StoredEvent('booking.absent')
export class Absent extends BookingEvent {
  readonly changeReason = 'ABSENT';
}
