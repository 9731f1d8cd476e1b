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
/** Only a process that was killed, or is cut off, keeps others waiting so long; its leases lapse. */
const ASK_AGAIN_MS = 20;
const LONGEST_WAIT_MS = 35_000;

/** The delivery loop of this process, as the other parts see it. */
export interface SignalReceiver {
  readonly isRunning: boolean;
  /** There may be something to send to these partners. */
  wake(subscriptionIds: readonly string[]): void;
  /** The subscription was changed: nothing may go on under its old settings. */
  changed(subscriptionId: string, isNewAddress: boolean): void;
  /** The partner said that it is busy. */
  busy(subscriptionId: string): void;
}

const NOBODY: SignalReceiver = {
  isRunning: false,
  wake: () => undefined,
  changed: () => undefined,
  busy: () => undefined,
};

/**
 * Tells delivery loops that there is something to do: the one of this process at once, those of others by NOTIFY.
 * Only a hint, which may get lost: every loop also looks for itself once a second.
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

  /** Signals of this process and of others go to this loop from now on. */
  connect(loop: SignalReceiver): void {
    this.loop = loop;
  }

  /**
   * These partners have something to be sent once the running transaction has committed. A process that delivers does so
   * itself, the others ask for it.
   */
  due(subscriptionIds: readonly string[]): void {
    if (subscriptionIds.length === 0) return;
    if (this.loop.isRunning) this.unitOfWork.afterCommit(() => this.loop.wake(subscriptionIds));
    else this.tell(DUE, subscriptionIds);
  }

  /**
   * The running transaction changes a subscription: no loop goes on under its old settings once it has committed.
   * @param isNewAddress its address has just been verified
   */
  changed(subscriptionId: string, isNewAddress: boolean): void {
    this.unitOfWork.afterCommit(() => this.loop.changed(subscriptionId, isNewAddress));
    this.tell(isNewAddress ? MOVED : CHANGED, [subscriptionId]);
  }

  /**
   * Resolves when no process can begin an attempt for a partner that was suspended, or has a new address: all of them have given back what they
   * had claimed, or marked it as begun, and nothing more is claimed.
   * @throws DomainError `service_unavailable` when a process neither does so nor loses its leases
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

  /** These partners said that they are busy: other processes ask the database before they send them anything. */
  busy(subscriptionIds: readonly string[]): void {
    // One that is not told hears it from the partner, or when it claims.
    this.tell(BUSY, subscriptionIds);
  }

  /** Listens to the signals of other processes from now on. */
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
