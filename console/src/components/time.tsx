import { useSyncExternalStore } from 'react';
import { serviceNow } from '../api/clock';
import { relative, local, localIn, utc } from './time-text';

interface Props {
  at: string | null | undefined;
  /** Whether only the age is shown. The full time is then in the element's tooltip. */
  compact?: boolean;
  /** Whether only the time is shown, without its age. */
  short?: boolean;
  /** Whether seconds are shown. They are useful only for technical events. */
  exact?: boolean;
  /**
   * The time zone of the place at which something happens. If it is set, the time is shown in the local time of that
   * place.
   */
  zone?: string | null;
}

/**
 * Shows a time from the API on one line, as local time with its time zone, and as an age. The tooltip has the time in
 * UTC. If the time zone of a place is given, the local time of the place is shown, and the tooltip has the local time
 * of the user.
 */
export function Time({ at, compact = false, short = false, exact = false, zone }: Props) {
  const now = useSyncExternalStore(everyHalfMinute, currentHalfMinute);
  if (at == null) return <span className="nothing">–</span>;
  const moment = new Date(at);
  const ago = relative(moment, now);
  const here = local(moment, exact);
  if (compact)
    return (
      <time dateTime={at} title={`${here} · ${utc(moment, exact)}`}>
        {ago}
      </time>
    );
  const [shown, other] = zone == null ? [here, utc(moment, exact)] : [localIn(moment, zone), here];
  if (short)
    return (
      <time dateTime={at} title={other}>
        {shown}
      </time>
    );
  return (
    <time dateTime={at} className="time" title={other}>
      {shown}{' '}
      <small>
        <span className="unseen">· {other} </span>· {ago}
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

/** Returns the current time, rounded down to half a minute, so that components are rendered at most twice a minute. */
function currentHalfMinute(): number {
  return Math.floor(serviceNow() / 30_000) * 30_000;
}
