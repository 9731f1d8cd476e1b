import { useLiveState, type LiveState } from '../api/live';
import { Time } from '../components/time';

const WORDS: Record<LiveState, string> = {
  live: 'Live',
  connecting: 'Connecting …',
  paused: 'Paused',
  broken: 'Disconnected, reconnecting',
};

/** Shows whether the page receives live updates, and how old its data is. */
export function LiveNote({ at }: { at: string | undefined }) {
  const state = useLiveState();
  return (
    <span className={`live ${state}`}>
      <i aria-hidden="true" /> {WORDS[state]}
      {at && (
        <>
          , as of <Time at={at} compact />
        </>
      )}
    </span>
  );
}
