import { serviceNow } from '../api/clock';
import { Time } from '../components/time';

/**
 * Shows when a partner that is DOWN is tried again. If the time has passed, no notification is waiting for the partner,
 * so the service makes the next attempt with the next notification.
 */
export function NextAttempt({ at, compact }: { at: string; compact?: boolean }) {
  return Date.parse(at) > serviceNow() ? <Time at={at} compact={compact} /> : <>with the next notification</>;
}
