import type { Schemas } from '../api/client';
import type { Tone } from '../components/badge';
import { counted } from '../components/counted';
import { conditionOf } from '../partners/condition';

type Subscription = Schemas['OwnSubscription'];

/** The health of a partner's own subscription, with a description and the partner's next step. */
interface Health {
  readonly word: string;
  readonly tone: Tone;
  readonly fact: string;
  readonly step: string;
}

/** Describes the health of a subscription in plain words, for the partner to whom the subscription belongs. */
export function healthOf(subscription: Subscription): Health {
  const [word, tone] = conditionOf(subscription);
  return { word, tone, ...wordsOf(word, subscription) };
}

function wordsOf(word: string, subscription: Subscription): Pick<Health, 'fact' | 'step'> {
  switch (word) {
    case 'UNVERIFIED':
      return {
        fact: 'Your address is not verified yet, so no notifications are sent to it.',
        step: 'Send a sample notification. Your endpoint must answer with status 200.',
      };
    case 'SUSPENDED':
      return subscription.suspended_by === 'PARTNER'
        ? {
            fact: 'You have paused the delivery. Your events are kept until you resume the delivery.',
            step: 'Resume the delivery when your endpoint is ready. All waiting notifications will then be sent in order.',
          }
        : {
            fact: 'The operators of the service have suspended the delivery. Your events are kept until the delivery is resumed.',
            step: 'Only the operators can resume the delivery. Please contact them.',
          };
    case 'DOWN':
      return {
        fact: 'Your endpoint answered with status 500, so the service treats it as down. Your events are kept for later delivery.',
        step: 'Fix your endpoint. Until then, the service tries one notification at a time. After the first success, it sends the other notifications.',
      };
    case 'FAILING':
      return {
        fact: 'The latest delivery attempt failed.',
        step: 'Open the failed notifications to read your endpoint’s answers. Fix your endpoint, then send the notifications again.',
      };
    default:
      return subscription.paused_until == null
        ? { fact: 'Your endpoint accepts notifications.', step: waitingText(subscription) }
        : {
            fact: 'Your endpoint asked the service to send notifications more slowly.',
            step: 'No action is needed. The service sends the waiting notifications at a pace that your endpoint accepts.',
          };
  }
}

function waitingText({ statistics: { bookings_waiting: waiting } }: Subscription): string {
  if (waiting === 0) return 'No notification is waiting.';
  return `${counted(waiting, 'booking has', 'bookings have')} undelivered notifications.`;
}
