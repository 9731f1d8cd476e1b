export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';

const TONES: Record<string, Tone> = {
  ...tones('good', 'DELIVERED DONE ACTIVE UP ELIGIBLE COMPLETED BOOKED MATCHED ACCEPTED'),
  ...tones('bad', 'ERROR_QUEUE FAILED DOWN ABORTED FAILING'),
  ...tones('warn', 'PAUSED SUSPENDED UNVERIFIED HELD ABSENT WAITING'),
  ...tones('busy', 'PENDING RUNNING PREPARING SENT SCHEDULED RECEIVING'),
};

/**
 * Shows a state under the name that it has in the API, with a colour. The name alone is sufficient; the colour only
 * helps.
 */
export function Badge({ state, tone }: { state: string; tone?: Tone }) {
  return <span className={`badge ${tone ?? TONES[state] ?? 'quiet'}`}>{state.replaceAll('_', ' ')}</span>;
}

function tones(tone: Tone, states: string): Record<string, Tone> {
  return Object.fromEntries(states.split(' ').map((state) => [state, tone]));
}
