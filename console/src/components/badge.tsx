export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';

const TONES: Record<string, Tone> = {
  ...tones('good', 'DELIVERED DONE ACTIVE UP ELIGIBLE COMPLETED BOOKED MATCHED ACCEPTED RELEASED OK'),
  ...tones('bad', 'ERROR_QUEUE FAILED DOWN ABORTED FAILING REVOKED DECLINED'),
  ...tones('warn', 'PAUSED SUSPENDED UNVERIFIED HELD ABSENT WAITING'),
  ...tones('busy', 'PENDING RUNNING PREPARING SENT SCHEDULED RECEIVING'),
};

/** The icon of each tone: a tick, a cross, an exclamation mark, a clock and a dot. */
const ICONS: Record<Tone, string> = {
  good: 'M3 8.5l3.2 3.2L13 5',
  bad: 'M4 4l8 8M12 4l-8 8',
  warn: 'M8 3v6M8 12.2v.3',
  busy: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.4',
  quiet: 'M8 7.9v.2',
};

interface Props {
  /** The name of the state in the API. */
  state: string;
  tone?: Tone;
  /** The text to show instead of the words that `stateText` returns. */
  children?: string;
}

/** Shows a state in words, with an icon and a colour. The user can understand the state from the words alone. */
export function Badge({ state, tone = TONES[state] ?? 'quiet', children = stateText(state) }: Props) {
  return (
    <span className={`badge ${tone}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={ICONS[tone]} />
      </svg>
      {children}
    </span>
  );
}

/** Converts the name of a state to words: `ERROR_QUEUE` becomes "Error queue". Other strings stay as they are. */
export function stateText(state: string): string {
  return state === 'OK' || !/^[A-Z_]+$/.test(state)
    ? state
    : state.charAt(0) + state.slice(1).toLowerCase().replaceAll('_', ' ');
}

function tones(tone: Tone, states: string): Record<string, Tone> {
  return Object.fromEntries(states.split(' ').map((state) => [state, tone]));
}
