import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { isUuid } from '../../platform/validation/identifiers.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { DeliverySignals } from '../delivery-signals.js';
import { NotificationsConfig } from '../notifications.config.js';
import { NO_MATCHING_RECORD } from '../partner/attempt-outcome.js';
import { ClockWatch } from './clock-watch.js';
import { leaseToken } from './delivery-lease.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { RELEASE } from './delivery-statements.js';
import { JobGate } from './job-gate.js';
import type { Retry } from './notification.entity.js';
import {
  FIND_LAPSED,
  FIND_OFFERABLE,
  LAPSE_OFFERS,
  OFFER,
  SETTLE_OFFERS,
  WITHDRAW_OFFERS,
  type Ended,
  type Offered,
} from './poll-statements.js';
import { RECORD_DELIVERED, RECORD_FAILED } from './record-statements.js';
import { ReplicationGate } from './replication-gate.js';

/** The failure reason of an attempt whose lease lapsed before the partner acknowledged or refused the notification. */
const LEASE_LAPSED = 'LEASE_LAPSED';

export const REFUSAL_REASONS = [NO_MATCHING_RECORD, 'OTHER'] as const;

/** A partner's refusal of a notification. It has the same effect as a response with status 400 to a PUT request. */
export interface Refusal {
  readonly id: string;
  readonly reason: (typeof REFUSAL_REASONS)[number];
  readonly detail: string | null;
}

/** The notifications that a poll has leased. `more` says whether more notifications could be leased. */
export interface Offer {
  readonly rows: readonly Offered[];
  readonly more: boolean;
}

/** The outcome of an attempt that failed, in the form that {@link RECORD_FAILED} expects. */
interface Failure {
  readonly retry: Retry;
  readonly failure: 'client_error' | 'timeout';
  readonly httpStatus: number | null;
  readonly reason: string;
  readonly excerpt: string | null;
}

/** Leases notifications to partners that poll, and records the outcomes; see poll-statements.ts. */
@Injectable()
export class PollOffers {
  private readonly gate: JobGate;

  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly signals: DeliverySignals,
    private readonly metrics: DeliveryMetrics,
    private readonly replication: ReplicationGate,
    private readonly logger: Logger,
    private readonly clock: ClockWatch,
  ) {
    this.gate = new JobGate(database, logger);
  }

  /** Leases up to `most` notifications of the subscriptions to the caller, for `leaseS` seconds. */
  async offer(subscriptionIds: readonly string[], caller: string, most: number, leaseS: number): Promise<Offer> {
    if (subscriptionIds.length === 0 || !(await this.replication.reopens())) return { rows: [], more: false };
    await this.lapse(subscriptionIds);
    const values = [subscriptionIds, most, leaseToken(), leaseS, caller, ...this.clock.trust()];
    const claimed = await this.database.query<Offered>(OFFER, values);
    const more = claimed[0]?.more ?? false;
    if (claimed.length > 0 && !(await this.replication.confirmed().catch(() => false))) {
      await this.withdraw(claimed);
      return { rows: [], more: false };
    }
    const refused = await this.refusedByJobs(claimed);
    await this.withdraw(refused);
    return { rows: claimed.filter((row) => !refused.includes(row)), more };
  }

  /**
   * Returns the items of bulk jobs that must not be sent now, because of an operator's action or an earlier item.
   */
  private async refusedByJobs(claimed: readonly Offered[]): Promise<Offered[]> {
    const items = claimed.filter((row) => row.job_id !== null);
    const mayBegin = await Promise.all(items.map((row) => this.gate.mayBegin(row)));
    return items.filter((_, index) => !mayBegin[index]);
  }

  /**
   * Releases the leases of a poll that does not return its notifications, for example because the client has
   * disconnected. No attempt is recorded for these notifications.
   */
  async withdraw(rows: readonly Offered[]): Promise<void> {
    if (rows.length === 0) return;
    const tokens = rows.map((row) => row.lease_token);
    await this.unitOfWork.run(async () => {
      await this.database.execute(WITHDRAW_OFFERS, [rows.map(({ id }) => id), tokens]);
      await this.database.execute(RELEASE, [
        rows.map((row) => row.subscription_id),
        rows.map(({ position }) => position),
        tokens,
      ]);
    });
    this.signals.due([...new Set(rows.map((row) => row.subscription_id))]);
  }

  /**
   * Records the caller's acknowledgements and refusals. The ids may be arbitrary strings.
   * @returns the ids that are not, or no longer, leased by the caller
   */
  async settle(
    caller: string,
    subscriptionIds: readonly string[],
    acknowledged: readonly string[],
    refused: readonly Refusal[],
  ): Promise<string[]> {
    const asked = [...acknowledged, ...refused.map(({ id }) => id)];
    if (asked.length === 0) return [];
    const refusalOf = new Map(refused.map((refusal) => [refusal.id, refusal]));
    for (const id of acknowledged) refusalOf.delete(id);
    const ended = await this.unitOfWork.run(async () => {
      const settled = await this.database.query<Ended>(SETTLE_OFFERS, [
        asked.filter(isUuid),
        caller,
        subscriptionIds,
        ...this.clock.trust(),
      ]);
      const refusedNow = settled.filter((one) => refusalOf.has(one.notification_id));
      const delivered = settled.filter((one) => !refusalOf.has(one.notification_id));
      const freed = await this.recordDelivered(delivered);
      const freedToo = await this.recordFailed(refusedNow, (one) =>
        refusalFailure(refusalOf.get(one.notification_id)!),
      );
      this.audit('notification.acknowledge', delivered);
      this.audit('notification.refuse', refusedNow);
      // The next events of the bookings can now be polled or, if the subscription has been changed to push, sent.
      this.signals.due([...new Set([...freed, ...freedToo])]);
      return settled;
    });
    const known = new Set(ended.map((one) => one.notification_id));
    return [...new Set(asked)].filter((id) => !known.has(id));
  }

  /** Records the lapsed leases of these partners (null: of all partners) as failed attempts. */
  async lapse(subscriptionIds: readonly string[] | null): Promise<void> {
    while ((await this.database.queryOne(FIND_LAPSED, [subscriptionIds, ...this.clock.trust()])) !== null) {
      const lapsed = await this.unitOfWork.run(async () => {
        const found = await this.database.query<Ended>(LAPSE_OFFERS, [subscriptionIds, ...this.clock.trust()]);
        await this.recordFailed(found, () => ({
          retry: 'AUTO',
          failure: 'timeout',
          httpStatus: null,
          reason: LEASE_LAPSED,
          excerpt: null,
        }));
        return found;
      });
      for (const { notification_id, subscription_id } of lapsed)
        this.logger.info(
          { notification_id, subscription_id, failure: 'timeout', reason: LEASE_LAPSED },
          'notification not acknowledged',
        );
      if (subscriptionIds === null) this.signals.offerable([...new Set(lapsed.map((one) => one.subscription_id))]);
    }
  }

  /** Returns those of the given subscriptions for which a waiting poll may get a notification. */
  async offerable(subscriptionIds: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(FIND_OFFERABLE, [subscriptionIds]);
    return rows.map(({ id }) => id);
  }

  /** Records deliveries; returns the subscriptions for which the next event of a booking can now be claimed. */
  private async recordDelivered(ended: readonly Ended[]): Promise<string[]> {
    if (ended.length === 0) return [];
    this.unitOfWork.afterCommit(() => this.count(ended, null));
    return this.record(RECORD_DELIVERED, [...common(ended, () => null), ended.map(() => false)]);
  }

  private async recordFailed(ended: readonly Ended[], failureOf: (one: Ended) => Failure): Promise<string[]> {
    if (ended.length === 0) return [];
    const failures = ended.map(failureOf);
    this.unitOfWork.afterCommit(() => ended.forEach((one, index) => this.count([one], failures[index].failure)));
    return this.record(RECORD_FAILED, [
      ...common(ended, (index) => failures[index].excerpt),
      failures.map(({ retry }) => retry),
      failures.map(({ retry, failure, httpStatus, reason }) =>
        JSON.stringify({
          failure,
          http_status: httpStatus,
          reason,
          // A lapsed lease is recorded like a "busy" response, so that an item of a bulk job stays in its job.
          // `partner_url` is null, because the lapse proves nothing about the partner's address.
          probe: false,
          partner_level: false,
          busy: retry === 'AUTO',
          good: 0,
          partner_url: null,
        }),
      ),
      this.config.retryScheduleS,
    ]);
  }

  /** Writes one audit entry for each subscription, with the number of its notifications. */
  private audit(action: string, ended: readonly Ended[]): void {
    for (const subscriptionId of new Set(ended.map((one) => one.subscription_id))) {
      const some = ended.filter((one) => one.subscription_id === subscriptionId);
      const [{ account_code: accountCode }] = some;
      this.unitOfWork.audit(action, subscriptionId, { accountCode, changed: [], count: some.length });
    }
  }

  private async record(statement: Statement, values: unknown[]): Promise<string[]> {
    const rows = await this.database.query<{ subscription_id: string }>(statement, values);
    return rows.map((row) => row.subscription_id);
  }

  private count(ended: readonly Ended[], failure: Failure['failure'] | null): void {
    for (const { subscription_id, duration_ms } of ended)
      this.metrics.attempted(subscription_id, { failure, durationMs: duration_ms });
  }
}

function refusalFailure({ reason, detail }: Refusal): Failure {
  return { retry: 'MANUAL', failure: 'client_error', httpStatus: 400, reason, excerpt: detail };
}

/** Returns the values of the first ten parameters of the statements that record outcomes (record-statements.ts). */
function common(ended: readonly Ended[], excerptOf: (index: number) => string | null): unknown[] {
  return [
    ended.map((one) => one.subscription_id),
    ended.map(({ position }) => position),
    ended.map((one) => one.lease_token),
    ended.map(({ trigger }) => trigger),
    ended.map((one) => one.job_id),
    ended.map(() => false),
    ended.map(({ at }) => at),
    ended.map((one) => one.duration_ms),
    ended.map((_, index) => excerptOf(index)),
    ended.map(() => null),
  ];
}
