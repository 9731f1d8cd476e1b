import type { NotificationState } from './notification.entity.js';
import type { ResendState } from './resend-job.entity.js';
import type { PartnerHealth, SubscriptionState } from '../subscriptions/subscription.entity.js';

/** How many events of a job may be on their way at once, once the first has been delivered. */
const WINDOW = 256;

export interface JobProgress {
  state: ResendState;
  canary: boolean;
  matched: number;
  sent: number;
  delivered: number;
  failed: number;
  skipped: number;
}

/** An item whose turn it is, and what became of its notification and partner in the meantime. */
export interface DueItem {
  position: number;
  state: NotificationState;
  /** An automatic retry of it is under way at this moment. */
  leased: boolean;
  partner_state: SubscriptionState;
  partner_health: PartnerHealth;
}

/** How many items to look at next: one at a time until the first delivery. */
export function resendRoom({ canary, sent, delivered, failed }: JobProgress): number {
  const onTheWay = sent - delivered - failed;
  return canary ? (onTheWay === 0 ? 1 : 0) : Math.max(0, WINDOW - onTheWay);
}

/** What to do with the items whose turn it is; later items wait behind one that has to wait. */
export function decideResend(
  job: JobProgress,
  items: readonly DueItem[],
): { send: number[]; skip: number[]; pause: boolean } {
  const send: number[] = [];
  const skip: number[] = [];
  for (const item of items) {
    // Delivered, resolved or resent by another way: each event is sent once.
    if (item.state !== 'ERROR_QUEUE') skip.push(item.position);
    else if (item.partner_state !== 'ACTIVE') return { send, skip, pause: true };
    else if (item.partner_health === 'DOWN' && !job.canary) return { send, skip, pause: true };
    else if (item.leased) break;
    else send.push(item.position);
  }
  return { send, skip, pause: false };
}

/** Every item has its outcome. */
export function isResendDone({ matched, delivered, failed, skipped }: JobProgress): boolean {
  return delivered + failed + skipped === matched;
}
