import type { TestApp } from './app';
import { Subscribed } from './subscribed';

/** A subscription whose partner polls, with the token of a user who may poll it. */
export class Polling {
  private constructor(
    readonly subscribed: Subscribed,
    readonly token: string,
  ) {}

  /** Creates a verified subscription, and changes it to POLL. */
  static async start(app: TestApp, settings: Record<string, unknown> = {}): Promise<Polling> {
    const subscribed = await Subscribed.start(app, settings);
    const polling = await Polling.of(subscribed);
    await polling.turn('POLL');
    return polling;
  }

  static async of(subscribed: Subscribed): Promise<Polling> {
    return new Polling(subscribed, await subscribed.app.given.token([], ['partner'], [subscribed.id]));
  }

  async turn(delivery: 'PUSH' | 'POLL'): Promise<Record<string, any>> {
    const answer = await this.subscribed.patch({ delivery });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body;
  }

  call(method: string, path: string, body?: unknown, token = this.token) {
    return this.subscribed.app.call(method, path, { token, body });
  }

  /** Polls without waiting for notifications, unless `order` contains `return_immediately: false`. */
  async poll(order: Record<string, unknown> = {}, token = this.token): Promise<Record<string, any>> {
    const body = { return_immediately: true, ...order };
    const answer = await this.call('POST', '/partner/notifications/poll', body, token);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body;
  }

  /**
   * Polls until nothing is left, and acknowledges everything. Returns the notifications in the order in which they
   * arrived.
   */
  async drain(order: Record<string, unknown> = {}): Promise<Record<string, any>[]> {
    const all: Record<string, any>[] = [];
    for (let ack: string[] = []; ;) {
      const { notifications } = await this.poll({ ...order, ack });
      if (notifications.length === 0) return all;
      all.push(...notifications);
      ack = notifications.map(({ id }: { id: string }) => id);
    }
  }

  /** Makes the leases of all notifications that the partner has polled expire. */
  async lapse(): Promise<void> {
    await this.lapseClaims();
    await this.subscribed.app.given.sql(
      `UPDATE poll_offers SET leased_until = now() - interval '1 second' WHERE subscription_id = $1`,
      [this.subscribed.id],
    );
  }

  /**
   * Makes the leases expire in the `deliveries` table, but not in `poll_offers`. The service then cannot record the
   * expiry yet.
   */
  async lapseClaims(): Promise<void> {
    await this.subscribed.app.given.sql(
      `UPDATE deliveries d SET leased_until = now() - interval '1 second' FROM poll_offers o
      WHERE o.notification_position = d.notification_position AND o.lease_token = d.lease_token AND d.subscription_id = $1`,
      [this.subscribed.id],
    );
  }
}
