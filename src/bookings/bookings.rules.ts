import { declareFaults, type Fault } from '../platform/errors.js';
import type { Faults } from '../platform/validation/faults.js';

declareFaults({
  not_allowed: ['The member does not go with the delivery mode.', 'Leave it out for SVC_REMOTE_PROCTORED.'],
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

/** What is agreed when an exam is booked or moved. */
export interface Appointment extends Location {
  booking_on: Date;
  delivery_mode: DeliveryMode;
}

const SITE_MEMBERS = ['location_code', 'location_name', 'location_address'] as const;

/**
 * A site has code, name, address and time zone; for a remote exam only the zone that the candidate chose is known.
 *
 * @param faults those of the form: what fits no delivery mode is not judged by it
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
