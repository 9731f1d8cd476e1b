import { serviceNow } from '../api/clock';
import type { Tone } from '../components/badge';
import { counted } from '../components/counted';

interface Condition {
  state: string;
  health: string;
  failing_since?: string | null;
}

/**
 * Returns the condition of a partner in one word, and the tone of its badge. A partner that is not DOWN is still
 * FAILING if its latest attempt failed.
 */
export function conditionOf({ state, health, failing_since: failing }: Condition): readonly [word: string, tone: Tone] {
  if (state !== 'ACTIVE') return [state, 'warn'];
  if (health === 'DOWN') return ['DOWN', 'bad'];
  return failing ? ['FAILING', 'bad'] : ['UP', 'good'];
}

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;
const AT_ONCE_DAYS = 3;

/**
 * Returns a text about the remaining validity of a certificate, such as `12 days left`, and its tone. The tone is
 * `quiet` while no action is needed.
 */
export function certificateText(
  notAfter: string | null | undefined,
  now = serviceNow(),
): readonly [string, Tone] | null {
  if (notAfter == null) return null;
  const days = Math.floor((Date.parse(notAfter) - now) / DAY_MS);
  if (days < 0) return ['ended', 'bad'];
  const text = days === 0 ? 'less than a day left' : `${counted(days, 'day', 'days')} left`;
  return [text, days < AT_ONCE_DAYS ? 'bad' : days < SOON_DAYS ? 'warn' : 'quiet'];
}
