import type { BookedEligibility } from '../eligibility/eligibility.commands.js';
import { formatDateTime } from '../platform/clock.js';
import type { Booking } from './booking.entity.js';
import type { ChangeReason, NotificationRequest } from './bookings.events.js';

/**
 * Builds the specification's NotificationRequest. The members have the order of the specification. Members without a
 * value are omitted.
 */
export function notificationRequest(
  changeReason: ChangeReason,
  booking: Booking,
  eligibility: BookedEligibility,
  effectiveDate: Date,
): NotificationRequest {
  const { exam_portions } = eligibility;
  const isAtSite = booking.delivery_mode === 'SITE_PROCTORED';
  return withoutNulls({
    booking_code: booking.booking_code,
    booking_on: formatDateTime(booking.booking_on),
    candidate_fname: eligibility.first_name,
    candidate_id: booking.candidate_id,
    candidate_lname: eligibility.last_name,
    candidate_mname: eligibility.middle_name,
    change_reason: changeReason,
    client_eligibility_id: eligibility.client_eligibility_id,
    delivery_mode: booking.delivery_mode,
    effective_date: formatDateTime(effectiveDate),
    exam_code: eligibility.exam_code,
    exam_portions: exam_portions.length > 0 ? exam_portions.map(withoutNulls) : null,
    location_address: isAtSite ? booking.location_address : null,
    location_code: isAtSite ? booking.location_code : null,
    location_name: isAtSite ? booking.location_name : null,
    location_timezone: booking.delivery_mode === null ? null : booking.location_timezone,
  }) as unknown as NotificationRequest;
}

function withoutNulls(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
