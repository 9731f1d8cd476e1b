import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Database, MACHINE_TIME, prepared } from '../platform/database/database.js';
import { Listener } from '../platform/database/listener.js';
import { serviceUnavailable } from '../platform/errors.js';
import { Hints } from '../platform/unit-of-work/hints.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Logger } from '../platform/observability/logger.js';

const CHANNEL = 'deliveries';
const MAY_BEGIN = prepared(
  'delivery-may-begin',
  `SELECT FROM deliveries
   WHERE subscription_id = $1 AND leased_until > ${MACHINE_TIME} AND NOT begun LIMIT 1`,
);
const DUE = 'due ';
const OFFERABLE = 'poll ';
const CHANGED = 'changed ';
const MOVED = 'moved ';
const BUSY = 'busy ';
/**
 * ASK_AGAIN_MS is the interval, in milliseconds, at which {@link DeliverySignals.stopped} checks again. LONGEST_WAIT_MS
 * is the longest time for which it waits. Within this time, the leases of killed or disconnected processes expire.
 */
const ASK_AGAIN_MS = 20;
const LONGEST_WAIT_MS = 35_000;

/** The part of this process's delivery loop that receives signals. */
export interface SignalReceiver {
  readonly isRunning: boolean;
  /** Reports that notifications for the given partners may be due for delivery. */
  wake(subscriptionIds: readonly string[]): void;
  /** Reports a change to the subscription, after which no attempt may start with its old settings. */
  changed(subscriptionId: string, isNewAddress: boolean): void;
  /** Reports that the partner sent a "busy" response. */
  busy(subscriptionId: string): void;
}

/** The part of this process that answers waiting polls. */
export interface PollReceiver {
  /** Reports that there may be a notification for these partners to poll. */
  wake(subscriptionIds: readonly string[]): void;
}

const NO_POLLS: PollReceiver = { wake: () => undefined };
const NOBODY: SignalReceiver = {
  isRunning: false,
  wake: () => undefined,
  changed: () => undefined,
  busy: () => undefined,
};

/**
 * Wakes the delivery loops when notifications are due. It wakes the loop of this process directly, and the loops of
 * other processes by NOTIFY. A lost signal does no harm, because every loop also polls once a second.
 */
@Injectable()
export class DeliverySignals {
  private loop = NOBODY;
  private polls = NO_POLLS;
  private readonly listener: Listener;
  private listening: Promise<void> | null = null;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly hints: Hints,
    logger: Logger,
  ) {
    this.listener = new Listener(database.url, CHANNEL, {
      notified: (payload) => this.hear(payload),
      failed: (error) => logger.warn({ err: error }, 'the LISTEN connection failed; reconnecting'),
    });
  }

  /** Connects the delivery loop that receives the signals of all processes. */
  connect(loop: SignalReceiver): void {
    this.loop = loop;
  }

  /** Registers the component that keeps polls waiting. The component then receives the signals of all processes. */
  connectPolls(polls: PollReceiver): void {
    this.polls = polls;
  }

  /**
   * Waits until the current transaction has committed, and then reports due notifications for the given partners. A
   * process that delivers wakes its own loop; any other process sends a NOTIFY.
   */
  due(subscriptionIds: readonly string[]): void {
    if (subscriptionIds.length === 0) return;
    this.unitOfWork.afterCommit(() => this.polls.wake(subscriptionIds));
    if (this.loop.isRunning) this.unitOfWork.afterCommit(() => this.loop.wake(subscriptionIds));
    else this.notify(DUE, subscriptionIds);
  }

  /**
   * Waits until the current transaction has committed, and then reports to all processes that there may be a
   * notification for these partners to poll.
   */
  offerable(subscriptionIds: readonly string[]): void {
    this.unitOfWork.afterCommit(() => this.polls.wake(subscriptionIds));
    this.notify(OFFERABLE, subscriptionIds);
  }

  /**
   * Informs all processes that a subscription has changed. Once the current transaction has committed, no delivery loop
   * uses the old settings.
   * @param isNewAddress whether the subscription's new address has just been verified
   */
  changed(subscriptionId: string, isNewAddress: boolean): void {
    this.unitOfWork.afterCommit(() => this.loop.changed(subscriptionId, isNewAddress));
    this.unitOfWork.afterCommit(() => this.polls.wake([subscriptionId]));
    this.notify(isNewAddress ? MOVED : CHANGED, [subscriptionId]);
  }

  /**
   * Resolves when no process can start an attempt for a partner that was suspended or has a new address. By then, each
   * process has released its claims for the partner or marked the attempts as begun. No process makes further claims
   * with the partner's old settings.
   * @throws DomainError `service_unavailable` when a process neither releases its claims nor loses its leases
   */
  async stopped(subscriptionId: string): Promise<void> {
    const giveUpAt = performance.now() + LONGEST_WAIT_MS;
    while ((await this.database.queryOne(MAY_BEGIN, [subscriptionId])) !== null) {
      if (performance.now() > giveUpAt)
        throw serviceUnavailable.error({
          detail:
            'The subscription was changed, but a delivery attempt with the old settings may still begin. Send the request again.',
        });
      await pause(ASK_AGAIN_MS);
    }
  }

  /**
   * Informs other processes that the given partners are busy. Those processes then ask the database before they send to
   * these partners.
   */
  busy(subscriptionIds: readonly string[]): void {
    // The message may be lost. In this case, another process learns that the partner is busy from the partner's
    // response, or at its next claim.
    this.notify(BUSY, subscriptionIds);
  }

  /** Starts to receive the signals of other processes, unless this process already receives them. */
  listen(): Promise<void> {
    return (this.listening ??= this.listener.open());
  }

  async close(): Promise<void> {
    await this.listener.close();
  }

  private notify(what: string, subscriptionIds: readonly string[]): void {
    this.hints.send(
      CHANNEL,
      subscriptionIds.map((id) => what + id),
    );
  }

  private hear(payload: string): void {
    const [word, id] = payload.split(' ');
    if ([DUE, OFFERABLE, CHANGED].includes(`${word} `)) this.polls.wake([id]);
    if (payload.startsWith(DUE)) this.loop.wake([payload.slice(DUE.length)]);
    else if (payload.startsWith(CHANGED)) this.loop.changed(payload.slice(CHANGED.length), false);
    else if (payload.startsWith(MOVED)) this.loop.changed(payload.slice(MOVED.length), true);
    else if (payload.startsWith(BUSY)) this.loop.busy(payload.slice(BUSY.length));
  }
}
