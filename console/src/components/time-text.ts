import { once } from './once';

/** The time zone of the browser. All times that are shown without the name of a place are in this time zone. */
export const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const FORMAT = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
} satisfies Intl.DateTimeFormatOptions;
// Each format takes a slow phone about 10 ms to create, so none is created before it is used.
const LOCAL = once(() => new Intl.DateTimeFormat('en-GB', { ...FORMAT, timeZoneName: 'short' }));
const EXACT = once(() => new Intl.DateTimeFormat('en-GB', { ...FORMAT, second: '2-digit', timeZoneName: 'short' }));
const UTC = { ...FORMAT, timeZone: 'UTC', timeZoneName: 'short' } as const;
const IN_UTC = once(() => new Intl.DateTimeFormat('en-GB', UTC));
const EXACT_IN_UTC = once(() => new Intl.DateTimeFormat('en-GB', { ...UTC, second: '2-digit' }));
const DAY = once(() => new Intl.DateTimeFormat('en-GB', { day: FORMAT.day, month: FORMAT.month }));
const HOUR = once(() => new Intl.DateTimeFormat('en-GB', { hour: FORMAT.hour, minute: FORMAT.minute }));
const RELATIVE = once(() => new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' }));
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/**
 * Returns the local time with its time zone: `14 May 2030, 09:00 GMT-4`.
 * @param exact whether the seconds are included
 */
export function local(moment: Date, exact = false): string {
  return (exact ? EXACT : LOCAL)().format(moment);
}

/** Returns the local day without the year: `14 May`. */
export function dayText(moment: Date): string {
  return DAY().format(moment);
}

/** Returns the local time of day: `09:00`. */
export function hourText(moment: Date): string {
  return HOUR().format(moment);
}

/**
 * The time formats that {@link localIn} has created, by time zone. They are kept, because a list may show hundreds of
 * times.
 */
const PLACES = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns the local time of a place: `14 May 2030, 09:00 in New York`. If the browser does not support the time zone,
 * returns the user's local time.
 */
export function localIn(moment: Date, zone: string): string {
  let format = PLACES.get(zone);
  if (format === undefined) {
    if (!isZone(zone)) return local(moment);
    format = new Intl.DateTimeFormat('en-GB', { ...FORMAT, timeZone: zone });
    PLACES.set(zone, format);
  }
  const text = format.format(moment);
  return zone === 'UTC' ? `${text} UTC` : `${text} in ${cityOf(zone)}`;
}

/** Returns the time in UTC. The date is included if it differs from the local date. */
export function utc(moment: Date, exact = false): string {
  const text = (exact ? EXACT_IN_UTC : IN_UTC)().format(moment);
  return moment.getDate() === moment.getUTCDate() ? text.slice(text.indexOf(', ') + 2) : text;
}

export function relative(moment: Date, now: number): string {
  const seconds = (moment.getTime() - now) / 1000;
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return RELATIVE().format(Math.trunc(seconds / length), unit);
  return seconds > 30 ? 'in under a minute' : 'just now';
}

/** Returns the name of a time zone for the label of a field: `New York time`. */
export function zoneText(zone = HERE): string {
  return zone === 'UTC' ? 'UTC' : `${cityOf(zone)} time`;
}

export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function cityOf(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ');
}

/** Returns how far a time zone is ahead of UTC at a given moment, in milliseconds. */
function aheadOf(zone: string, at: number): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(at);
  const [year, month, day, hour, minute, second] = (['year', 'month', 'day', 'hour', 'minute', 'second'] as const).map(
    (type) => Number(parts.find((part) => part.type === type)!.value),
  );
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

/**
 * Converts the value of a date-time field to the API's format for times. The user types the local time of a zone, and
 * the API expects UTC.
 */
export function toUtcText(value: string, zone = HERE): string {
  const asUtc = Date.parse(`${value}Z`);
  if (Number.isNaN(asUtc)) return value;
  // The first offset is computed as if the typed time were UTC. Near the start or end of daylight saving time, this
  // offset may be wrong. The offset at the resulting moment is therefore used.
  const near = asUtc - aheadOf(zone, asUtc);
  return `${new Date(asUtc - aheadOf(zone, near)).toISOString().slice(0, 19)}Z`;
}

/** Converts a time from the API to the value of a date-time field. Seconds are omitted if they are zero. */
export function toLocalText(at: string, zone = HERE): string {
  const moment = Date.parse(at);
  if (Number.isNaN(moment)) return at;
  const text = new Date(moment + aheadOf(zone, moment)).toISOString().slice(0, 19);
  return text.endsWith(':00') ? text.slice(0, 16) : text;
}
