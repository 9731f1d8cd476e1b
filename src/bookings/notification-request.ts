import { formatDateTime } from '../platform/clock.js';
import type { BookingEvent } from './bookings.events.js';

/**
 * The specification's NotificationRequest of an event, for the change feed; members without a value are left out. It equals what
 * partners are sent (src/notifications/delivery/translation.ts): a test compares them.
 */
export function notificationRequest({ data, meta, changeReason }: BookingEvent): Record<string, unknown> {
  const isAtSite = data.delivery_mode === 'SITE_PROCTORED';
  const { location_address, location_code, location_name, location_timezone, exam_portions, ...rest } = data;
  const members = {
    ...rest,
    change_reason: changeReason,
    effective_date: formatDateTime(meta.occurredAt),
    exam_portions: exam_portions.length > 0 ? exam_portions.map(withoutNulls) : null,
    location_address: isAtSite ? location_address : null,
    location_code: isAtSite ? location_code : null,
    location_name: isAtSite ? location_name : null,
    location_timezone: data.delivery_mode === null ? null : location_timezone,
  };
  return withoutNulls(members);
}

function withoutNulls(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
