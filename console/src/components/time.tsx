import { useSyncExternalStore } from 'react';
import { relative, local, utc } from './time-text';

/** Shows a time of the API: local, with UTC and its age. */
export function Time({ at, compact = false }: { at: string | null | undefined; compact?: boolean }) {
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

/** Subscribes a component to the clock that all times on the page share. */
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

/** Returns the time rounded to half a minute, so that nothing is rendered needlessly. */
function currentHalfMinute(): number {
  return Math.floor(Date.now() / 30_000) * 30_000;
}
