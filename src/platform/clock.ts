import { Injectable } from '@nestjs/common';

/** The one source of business time. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** Reads `YYYY-MM-DDThh:mm:ssZ`; null when the text has another form or names a moment that does not exist. */
export function parseDateTime(text: string): Date | null {
  if (!DATE_TIME.test(text)) return null;
  const date = new Date(text);
  // `new Date` silently turns 30 February into 1 March: only a text that comes back unchanged is a real moment.
  return !Number.isNaN(date.getTime()) && formatDateTime(date) === text ? date : null;
}

/** Writes `YYYY-MM-DDThh:mm:ssZ`; fractions are cut off. */
export function formatDateTime(date: Date): string {
  return date.toISOString().slice(0, 19) + 'Z';
}

/** As {@link formatDateTime}; null stays null. */
export function formatOptionalDateTime(date: Date | null): string | null {
  return date === null ? null : formatDateTime(date);
}
