const LOCAL = new Intl.DateTimeFormat('en-GB', {
  day: '2-digit',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
/**
 * The format for the start of an exam. It needs no seconds, but names the time zone, because exams take place in many
 * zones.
 */
const SHORT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

export function local(moment: Date): string {
  return LOCAL.format(moment).replace(',', '');
}

/** Returns the local time without seconds, with its time zone. */
export function localShort(moment: Date): string {
  return SHORT.format(moment);
}

/** Returns the time in UTC. The date is included if it differs from the local date. */
export function utc(moment: Date): string {
  const text = moment.toISOString();
  const sameDay = moment.getDate() === moment.getUTCDate();
  return `${sameDay ? '' : `${text.slice(0, 10)} `}${text.slice(11, 19)} UTC`;
}

export function relative(moment: Date, now: number): string {
  const seconds = (moment.getTime() - now) / 1000;
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return RELATIVE.format(Math.trunc(seconds / length), unit);
  return seconds > 30 ? 'in under a minute' : 'just now';
}

/** Converts the value of a date-time field to the form of the API. The user types local time, and the API gets UTC. */
export function toUtcText(value: string): string {
  const moment = new Date(value);
  return Number.isNaN(moment.getTime()) ? value : `${moment.toISOString().slice(0, 19)}Z`;
}

/** Converts a time of the API to the value of a date-time field. */
export function toLocalText(at: string): string {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return at;
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
