import { dayText, hourText } from './time-text';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The longest period, in milliseconds, whose time axis shows hours as well as days. */
const HOURS_UP_TO_MS = 2 * DAY_MS;
/** The minimum distance between the centres of two labels, in pixels. */
const LABEL_PX = 56;

interface Tick {
  at: number;
  label: string;
}

/** Returns round values for the axis of a chart, from 0 to at least the highest value. */
export function valueTicks(most: number): number[] {
  const rough = Math.max(most, 1) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!,
  );
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, index) => index * step);
}

/**
 * Returns the labels of the time axis, in the browser's time zone. Each midnight is labelled with its day. In a short
 * period, every sixth hour is also labelled. Labels that would overlap or be cut off are omitted.
 */
export function timeTicks(from: number, to: number, width: number): Tick[] {
  const hasHours = to - from <= HOURS_UP_TO_MS;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(from / HOUR_MS) * HOUR_MS; at < to; at += HOUR_MS) {
    const moment = new Date(at);
    const hour = moment.getHours();
    if (hour === 0) ticks.push({ at, label: dayText(moment) });
    else if (hasHours && hour % 6 === 0) ticks.push({ at, label: hourText(moment) });
  }
  const every = Math.ceil((ticks.length * LABEL_PX) / Math.max(1, width));
  const xOf = (at: number) => (width * (at - from)) / (to - from);
  return ticks.filter(({ at }, index) => index % every === 0 && xOf(at) < width - LABEL_PX / 2);
}
