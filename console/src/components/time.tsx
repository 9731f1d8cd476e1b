import { useSyncExternalStore } from 'react';
import { relative, local, localShort, utc } from './time-text';

interface Props {
  at: string | null | undefined;
  /** Whether only the age is shown. The full time is then in the element's tooltip. */
  compact?: boolean;
  /** Whether only the local time is shown, with its time zone. */
  short?: boolean;
}

/** Shows a time from the API: as local time, in UTC, and as an age. */
export function Time({ at, compact = false, short = false }: Props) {
  const now = useSyncExternalStore(everyHalfMinute, currentHalfMinute);
  if (at == null) return <span className="nothing">–</span>;
  const moment = new Date(at);
  const ago = relative(moment, now);
  if (compact)
    return (
      <time dateTime={at} title={`${local(moment)} · ${utc(moment)}`}>
        {ago}
      </time>
    );
  if (short)
    return (
      <time dateTime={at} title={utc(moment)}>
        {localShort(moment)}
      </time>
    );
  return (
    <time dateTime={at} className="time">
      {local(moment)}{' '}
      <small>
        {utc(moment)} · {ago}
      </small>
    </time>
  );
}

const ticks = new Set<() => void>();
let timer: number | undefined;

/** Subscribes a component to the clock that all times on the page share. The clock ticks every half minute. */
function everyHalfMinute(tick: () => void): () => void {
  ticks.add(tick);
  timer ??= window.setInterval(() => ticks.forEach((each) => each()), 30_000);
  return () => {
    ticks.delete(tick);
    if (ticks.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the current time, rounded to half a minute, so that components are not rendered more often. */
function currentHalfMinute(): number {
  return Math.floor(Date.now() / 30_000) * 30_000;
}
