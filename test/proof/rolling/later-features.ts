import { setTimeout as pause } from 'node:timers/promises';
import { callJson } from '../../../bench/calls.js';
import { prepare, preparePartner, query } from '../../../bench/prepare.js';
import type { ServiceProcess } from '../../../bench/service-process.js';
import type { MailServer } from '../../support/mail-server.js';
import { startPartner, type Partner } from '../../support/partner.js';
import { BookingLoad, subscribe } from '../chaos/booking-load.js';
import type { Ledger } from '../chaos/chaos-ledger.js';
import { PollingPartner } from '../chaos/polling-partner.js';
import type { Stop } from '../stops.js';

const POLLS = 4;
/** The time, in milliseconds, after which the failing partner switches between failing and working. */
const FAILING_MS = 8_000;
const BETWEEN_BOOKINGS_MS = 2_000;
const SETTLE_MS = 120_000;
/**
 * The statuses with which a process of release 1.0 answers a poll. Release 1.0 has neither the `partner` scope nor the
 * routes for partners.
 */
const ABSENT = [401, 403, 404];

interface Setting {
  /** A process of the later release. */
  readonly service: ServiceProcess;
  readonly url: string;
  /** Returns the base URL of the process that gets the next request. */
  readonly baseUrl: () => string;
  readonly token: string;
  readonly polledId: string;
  readonly ledger: Ledger;
  readonly mail: MailServer;
  readonly stops: Stop[];
}

/**
 * Uses features that only the later release has: a partner that polls, and an alert by mail about a partner that fails.
 */
export class LaterFeatures {
  private isFailing = true;
  private ends = false;
  private readonly turns: Promise<void>;

  private constructor(
    private readonly setting: Setting,
    private readonly polling: PollingPartner,
    private readonly load: BookingLoad,
    partner: Partner,
  ) {
    partner.answer(() => ({ status: this.isFailing ? 500 : 200 }));
    this.turns = this.takeTurns();
  }

  static async use(setting: Setting): Promise<LaterFeatures> {
    const { service, url, baseUrl, token, polledId, ledger, stops } = setting;
    const call = (method: string, path: string, body: object) =>
      callJson(service.baseUrl, token, method, `/admin/${path}`, body);
    await call('PATCH', `subscriptions/${polledId}`, { delivery: 'POLL' });
    const partnerToken = await preparePartner(url, polledId);
    const isAbsent = (status: number) => ABSENT.includes(status);
    const polling = new PollingPartner({ baseUrl, token: partnerToken, ledger, calls: POLLS, isAbsent });
    const failing = await prepare(url, 'failing');
    const partner = await startPartner();
    stops.push(() => partner.stop());
    await subscribe(service.baseUrl, failing.account, token, partner);
    await call('PUT', 'alerts/rolling', {
      kind: 'EMAIL',
      to: ['operators@example.org'],
      account_codes: [failing.account],
      conditions: ['PARTNER_FAILING', 'PARTNER_RECOVERED'],
      quiet_s: 0,
    });
    const load = new BookingLoad({ baseUrl, ...failing, restMs: BETWEEN_BOOKINGS_MS, timeoutMs: 60_000, workers: 1 });
    return new LaterFeatures(setting, polling, load, partner);
  }

  get faults(): string[] {
    return [...this.polling.faults, ...this.load.faults];
  }

  /** Waits until the partner that failed has received everything, and all messages of the alert have been sent. */
  async settle(): Promise<void> {
    this.ends = true;
    await this.turns;
    this.isFailing = false;
    await this.load.stop();
    for (const until = Date.now() + SETTLE_MS; Date.now() < until; await pause(500)) {
      const [{ left }] = await query(
        this.setting.url,
        `SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM alert_messages WHERE sent_datetime IS NULL) AS left`,
      );
      if (Number(left) === 0) return;
    }
  }

  async stop(): Promise<void> {
    await this.polling.stop();
  }

  /** Returns the number of the alert's messages, and how many of them were lost or sent more than once. */
  async mailsOf(): Promise<{ mails: number; wrongMails: number }> {
    const rows = await query(this.setting.url, 'SELECT id FROM alert_messages');
    const ids = this.setting.mail.mails.map(({ headers }) => headers['message-id'] ?? '');
    const sent = rows.map(({ id }) => ids.filter((one) => one.includes(id as string)).length);
    return { mails: rows.length, wrongMails: sent.filter((count) => count !== 1).length };
  }

  private async takeTurns(): Promise<void> {
    while (!this.ends) {
      await pause(FAILING_MS);
      this.isFailing = !this.isFailing;
    }
  }
}
