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
const CHANGED = 'changed ';
const MOVED = 'moved ';
const BUSY = 'busy ';
/** Only a killed or disconnected process makes others wait this long; then its leases expire. */
const ASK_AGAIN_MS = 20;
const LONGEST_WAIT_MS = 35_000;

/** The delivery loop of this process, as other parts use it. */
export interface SignalReceiver {
  readonly isRunning: boolean;
  /** Notifications for these partners may be due. */
  wake(subscriptionIds: readonly string[]): void;
  /** The subscription was changed: no attempt may start with its old settings. */
  changed(subscriptionId: string, isNewAddress: boolean): void;
  /** The partner answered that it is busy. */
  busy(subscriptionId: string): void;
}

const NOBODY: SignalReceiver = {
  isRunning: false,
  wake: () => undefined,
  changed: () => undefined,
  busy: () => undefined,
};

/**
 * Wakes delivery loops when notifications are due: the loop of this process directly, other processes by NOTIFY. A
 * signal is only a hint and may be lost: every loop also polls once a second.
 */
@Injectable()
export class DeliverySignals {
  private loop = NOBODY;
  private readonly listener: Listener;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly hints: Hints,
    logger: Logger,
  ) {
    this.listener = new Listener(database.url, CHANNEL, {
      heard: (payload) => this.hear(payload),
      failed: (error) => logger.warn({ err: error }, 'no connection to listen on; trying again'),
    });
  }

  /** Connects the loop that receives the signals of this and other processes. */
  connect(loop: SignalReceiver): void {
    this.loop = loop;
  }

  /**
   * Announces notifications of these partners, once the running transaction has committed. A process that delivers
   * wakes its own loop; other processes send a NOTIFY.
   */
  due(subscriptionIds: readonly string[]): void {
    if (subscriptionIds.length === 0) return;
    if (this.loop.isRunning) this.unitOfWork.afterCommit(() => this.loop.wake(subscriptionIds));
    else this.tell(DUE, subscriptionIds);
  }

  /**
   * Announces a change of a subscription: no loop uses its old settings once the running transaction has committed.
   * @param isNewAddress whether its address has just been verified
   */
  changed(subscriptionId: string, isNewAddress: boolean): void {
    this.unitOfWork.afterCommit(() => this.loop.changed(subscriptionId, isNewAddress));
    this.tell(isNewAddress ? MOVED : CHANGED, [subscriptionId]);
  }

  /**
   * Resolves when no process can start an attempt for a partner that was suspended or has a new address. By then all
   * processes have released their claims or marked them as begun, and nothing more is claimed.
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

  /** Announces that these partners are busy: other processes then ask the database before they send. */
  busy(subscriptionIds: readonly string[]): void {
    // A process that misses the message learns it from the partner, or at its next claim.
    this.tell(BUSY, subscriptionIds);
  }

  /** Starts listening to the signals of other processes. */
  async listen(): Promise<void> {
    await this.listener.open();
  }

  async close(): Promise<void> {
    await this.listener.close();
  }

  private tell(what: string, subscriptionIds: readonly string[]): void {
    this.hints.send(
      CHANNEL,
      subscriptionIds.map((id) => what + id),
    );
  }

  private hear(payload: string): void {
    if (payload.startsWith(DUE)) this.loop.wake([payload.slice(DUE.length)]);
    else if (payload.startsWith(CHANGED)) this.loop.changed(payload.slice(CHANGED.length), false);
    else if (payload.startsWith(MOVED)) this.loop.changed(payload.slice(MOVED.length), true);
    else if (payload.startsWith(BUSY)) this.loop.busy(payload.slice(BUSY.length));
  }
}
