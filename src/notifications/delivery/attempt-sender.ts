import { isRecordChange } from '../../platform/changes/change.entity.js';
import type { Logger } from '../../platform/observability/logger.js';
import type { AttemptOutcome } from '../partner/attempt-outcome.js';
import type { Folder, PartnerClient } from '../partner/partner-client.js';
import { BUSY_S } from '../partner/retry-after.js';
import { AttemptNotBegun } from '../partner/partner-connection.js';
import type { PartnerProfile } from '../subscriptions/partner-directory.js';
import type { AttemptsUnderWay, Held } from './attempts-under-way.js';
import type { PartnerQueue } from './partner-queue.js';
import { MAY_START_MS } from './delivery-lease.js';
import type { JobGate } from './job-gate.js';
import { isBusy, retryAfter } from './outcome.rules.js';
import type { Outcome } from './outcome-writer.js';
import { tracedPut } from './traced-put.js';

/**
 * Sends a claimed notification as soon as a connection to the partner is free. If the attempt may no longer start by
 * then, for example because too much of the lease has passed, the notification is not sent.
 */
export class AttemptSender {
  constructor(
    private readonly client: PartnerClient,
    private readonly underWay: AttemptsUnderWay,
    private readonly gate: JobGate,
    private readonly logger: Logger,
  ) {}

  /**
   * Sends the notification. Returns null if the attempt may not start, or if it failed because of an error in this
   * service rather than at the partner. In both cases, the notification stays due.
   */
  async send(item: Held, profile: PartnerProfile, queue: PartnerQueue<Held>): Promise<AttemptOutcome | null> {
    try {
      return await this.put(item, profile, queue);
    } catch (error) {
      if (!(error instanceof AttemptNotBegun))
        this.logger.error(
          { err: error, subscription_id: item.subscription_id },
          'an attempt failed with an internal error',
        );
      return null;
    }
  }

  /**
   * Sends the HTTP request that contains a notification.
   * @throws AttemptNotBegun
   */
  private async put(item: Held, profile: PartnerProfile, { pace }: PartnerQueue<Held>): Promise<AttemptOutcome> {
    if (item.job_id !== null && !(await this.gate.mayBegin(item))) throw new AttemptNotBegun();
    if (item.progress === 'REVOKED' || performance.now() - item.claimedAt > MAY_START_MS) throw new AttemptNotBegun();
    // When the connection is open, the service checks again whether the attempt may start, because the partner may have
    // answered "busy" in the meantime.
    const mayBegin = () => {
      const now = performance.now();
      if (now < pace.wallUntil || !this.underWay.begin(item)) return false;
      pace.sends(now);
      return true;
    };
    return tracedPut(item.traceparent, profile.headers(item), (headers) =>
      this.client.put(profile.endpoint, headers, item.body, mayBegin, folderOf(item)),
    );
  }
}

function folderOf({ change_reason }: Held): Folder {
  return isRecordChange(change_reason) ? 'changes' : 'notifications';
}

/**
 * Returns the outcome to record for an attempt. The outcome contains the result of the HTTP request, and values that
 * depend on the partner's settings and pace.
 */
export function judged(
  item: Held,
  at: Date,
  result: AttemptOutcome,
  { autoRetryOn, endpoint }: PartnerProfile,
  { pace, waiting }: PartnerQueue<Held>,
): Outcome {
  const now = performance.now();
  if (result.delivered) pace.answeredWell(now);
  return {
    item,
    probe: item.probe,
    at,
    partnerUrl: endpoint.url,
    result,
    retry: result.delivered ? null : retryAfter(result, autoRetryOn),
    busy: isBusy(result, autoRetryOn) ? { waitS: result.retryAfterS ?? BUSY_S, good: pace.goodAnswers(now) } : null,
    othersWait: pace.isPaced && waiting > 0,
  };
}
