import { useBrokenSince } from '../api/live';
import { Time } from '../components/time';

/** Shows that live updates have stopped, and since when. The note is part of every page with live updates. */
export function NotLive() {
  const since = useBrokenSince();
  if (since === null) return null;
  return (
    <p className="note warn not-live" role="status">
      No live updates since <Time at={new Date(since).toISOString()} short />. The service is not answering; the console
      keeps trying to connect.
    </p>
  );
}
