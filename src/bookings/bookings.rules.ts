import { declareFaults, type Fault } from '../platform/errors.js';
import type { Faults } from '../platform/validation/faults.js';

declareFaults({
  not_allowed: [
    'This member is not allowed with the delivery mode of the booking.',
    'Leave the member out when the delivery mode is SVC_REMOTE_PROCTORED.',
  ],
});

export const BOOKING_STATUSES = ['BOOKED', 'CANCELLED', 'COMPLETED', 'ABSENT', 'EXCUSED_ABSENT'] as const;
export type BookingStatus = (typeof BOOKING_STATUSES)[number];

export const DELIVERY_MODES = ['SITE_PROCTORED', 'SVC_REMOTE_PROCTORED'] as const;
export type DeliveryMode = (typeof DELIVERY_MODES)[number];

export interface Location {
  location_code: string | null;
  location_name: string | null;
  location_address: string | null;
  location_timezone: string | null;
}

/** The appointment, which consists of the members of a booking that a client chooses when booking or moving an exam. */
export interface Appointment extends Location {
  booking_on: Date;
  delivery_mode: DeliveryMode;
}

const HOUR_MS = 3_600_000;

/**
 * Returns whether it is too late to change the booking.
 * @param hours the test's `change_cutoff_hours`; null means that changes are allowed at any time
 */
export function isCutoffPassed(
  { booking_on }: Pick<Appointment, 'booking_on'>,
  hours: number | null,
  now: Date,
): boolean {
  return hours !== null && now.getTime() > booking_on.getTime() - hours * HOUR_MS;
}

/** Returns whether the booking already has the requested appointment. If so, a move changes nothing. */
export function isSameAppointment(
  booking: Omit<Appointment, 'delivery_mode'> & { delivery_mode: DeliveryMode | null },
  appointment: Appointment,
): boolean {
  const { booking_on, ...rest } = appointment;
  return (
    booking.booking_on.getTime() === booking_on.getTime() &&
    (Object.keys(rest) as (keyof typeof rest)[]).every((member) => booking[member] === rest[member])
  );
}

const SITE_MEMBERS = ['location_code', 'location_name', 'location_address'] as const;

/**
 * Checks the location of an appointment. A test site needs a code, a name, an address and a time zone. A remote exam
 * has only the candidate's time zone.
 * @param faults the faults that the validation of the request has found; if the delivery mode has a fault, the location
 * is not checked
 */
export function locationFaults(
  { delivery_mode, ...location }: Partial<Location> & { delivery_mode: DeliveryMode },
  faults: Faults,
): Fault[] {
  if (faults.concern('/delivery_mode')) return [];
  if (delivery_mode === 'SITE_PROCTORED')
    return [...SITE_MEMBERS, 'location_timezone' as const]
      .filter((member) => location[member] == null && !faults.concern(`/${member}`))
      .map((member) => ({ pointer: `/${member}`, code: 'required', detail: 'Must be given for SITE_PROCTORED.' }));
  return SITE_MEMBERS.filter((member) => location[member] != null).map((member) => ({
    pointer: `/${member}`,
    code: 'not_allowed',
    detail: 'Must not be given for SVC_REMOTE_PROCTORED.',
  }));
}
