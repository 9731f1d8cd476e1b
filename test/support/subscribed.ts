import type { TestApp } from './app';
import { startPartner, type Partner, type PartnerOptions } from './partner';

export interface Scene {
  account: string;
  testCode: string;
  token: string;
}

/**
 * An account with a verified subscription of a test partner. The partner's list of requests no longer contains the
 * request that verified the subscription.
 */
export class Subscribed {
  private constructor(
    readonly app: TestApp,
    readonly operator: string,
    readonly scene: Scene,
    readonly partner: Partner,
    readonly id: string,
    readonly signingSecret: string,
  ) {}

  static async start(
    app: TestApp,
    settings: Record<string, unknown> = {},
    { scene, partnerOptions }: { scene?: Scene; partnerOptions?: PartnerOptions } = {},
  ): Promise<Subscribed> {
    const partner = await startPartner(partnerOptions);
    const operator = await app.given.operator();
    const itsScene = scene ?? (await app.given.scene());
    const created = await app.call('POST', '/admin/subscriptions', {
      token: operator,
      body: { account_code: itsScene.account, partner_url: partner.url, ca_pem: partner.caPem, ...settings },
    });
    if (created.status !== 201) throw new Error(`${created.status} ${created.text}`);
    const { id, signing_secret } = created.body;
    const subscribed = new Subscribed(app, operator, itsScene, partner, id, signing_secret);
    const verified = await subscribed.post('verify');
    if (verified.status !== 200) throw new Error(`${verified.status} ${verified.text}`);
    partner.requests.length = 0;
    return subscribed;
  }

  post(action: string, body?: unknown) {
    return this.app.call('POST', `/admin/subscriptions/${this.id}/${action}`, { token: this.operator, body });
  }

  patch(body: unknown) {
    return this.app.call('PATCH', `/admin/subscriptions/${this.id}`, { token: this.operator, body });
  }

  async subscription(): Promise<Record<string, any>> {
    return (await this.get(`/admin/subscriptions/${this.id}`)).body;
  }

  get(path: string) {
    return this.app.call('GET', path, { token: this.operator });
  }

  admin(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    return this.app.call(method, `/admin/${path}`, { token: this.operator, body, headers });
  }

  /** Creates a booking, which causes the first event of the booking. Returns the booking code. */
  async booking(changes: Record<string, unknown> = {}): Promise<string> {
    const eligibility = await this.app.given.eligibility(this.scene);
    return (await this.app.given.booking(this.scene, eligibility, changes))['booking_code'];
  }

  async reschedule(bookingCode: string, changes: Record<string, unknown> = {}): Promise<void> {
    const path = `/accounts/${this.scene.account}/bookings/${bookingCode}`;
    const { token } = this.scene;
    const { body } = await this.app.call('GET', path, { token });
    const kept = [
      'booking_on',
      'delivery_mode',
      'location_code',
      'location_name',
      'location_address',
      'location_timezone',
    ];
    const request = Object.fromEntries(kept.filter((name) => body[name] !== null).map((name) => [name, body[name]]));
    const moved = new Date(Date.parse(body.booking_on) + 3600_000).toISOString().slice(0, 19) + 'Z';
    const answer = await this.app.call('PUT', path, { token, body: { ...request, booking_on: moved, ...changes } });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  }

  async cancel(bookingCode: string): Promise<void> {
    const { account, token } = this.scene;
    const answer = await this.app.call('DELETE', `/accounts/${account}/bookings/${bookingCode}`, { token });
    if (answer.status !== 204) throw new Error(`${answer.status} ${answer.text}`);
  }

  /** Returns the notifications of this subscription, oldest first. */
  async notifications(query = ''): Promise<Record<string, any>[]> {
    const { body } = await this.get(`/admin/notifications?subscription_id=${this.id}&limit=200${query}`);
    return (body as Record<string, any>[]).reverse();
  }

  async queue(query = ''): Promise<Record<string, any>[]> {
    const { body } = await this.get(`/admin/error-queue?subscription_id=${this.id}&limit=200${query}`);
    return (body as Record<string, any>[]).reverse();
  }

  async notification(id: string): Promise<Record<string, any>> {
    return (await this.get(`/admin/notifications/${id}`)).body;
  }

  async stop(): Promise<void> {
    await this.partner.stop();
  }
}
