import { useSyncExternalStore } from 'react';
import { relative, local, utc } from './time-text';

/** A moment of the API: local, with UTC and how long ago beside it. */
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

function everyHalfMinute(tick: () => void): () => void {
  const timer = setInterval(tick, 30_000);
  return () => clearInterval(timer);
}

/** The same within half a minute, so that nothing is drawn again for nothing. */
function currentHalfMinute(): number {
  return Math.floor(Date.now() / 30_000) * 30_000;
}
