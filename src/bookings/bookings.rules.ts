import type { Fault } from '../platform/errors.js';

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

const SITE_MEMBERS = ['location_code', 'location_name', 'location_address'] as const;

/** A site has code, name, address and time zone; for a remote exam only the zone that the candidate chose is known. */
export function locationFaults(deliveryMode: DeliveryMode, location: Partial<Location>): Fault[] {
  const members = deliveryMode === 'SITE_PROCTORED' ? [...SITE_MEMBERS, 'location_timezone' as const] : SITE_MEMBERS;
  return members.flatMap((member): Fault[] => {
    const given = location[member] != null;
    if (deliveryMode === 'SITE_PROCTORED')
      return given ? [] : [{ pointer: `/${member}`, code: 'required', detail: 'Must be given for SITE_PROCTORED.' }];
    return given
      ? [{ pointer: `/${member}`, code: 'not_allowed', detail: 'Must not be given for SVC_REMOTE_PROCTORED.' }]
      : [];
  });
}
