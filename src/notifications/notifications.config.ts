import type { EnvironmentReader } from '../platform/environment-reader.js';
import { isNetwork } from '../platform/networks.js';

/** The settings for deliveries, their retries and their retention. */
export class NotificationsConfig {
  readonly waitMs: number;
  readonly concurrency: number;
  readonly concurrencyPerPartner: number;
  readonly retentionDays: number;
  readonly retryScheduleS: readonly number[];
  readonly retryGiveUpH: number;
  readonly partnerAllowedNetworks: readonly string[];
  /** The number of standby databases that must have received an event before it is sent. */
  readonly confirmReplicated: number;

  constructor(read: EnvironmentReader, sandbox: boolean) {
    this.waitMs = read.integer('NOTIFICATION_WAIT_MS', 10_000, 100, 600_000);
    this.concurrency = read.integer('NOTIFICATION_CONCURRENCY', 64, 1, 10_000);
    this.concurrencyPerPartner = read.integer('NOTIFICATION_CONCURRENCY_PER_PARTNER', 16, 1, 10_000);
    this.retentionDays = read.integer('NOTIFICATION_RETENTION_DAYS', 90, 1, 36_500);
    const isSeconds = (text: string) => /^\d+(\.\d+)?$/.test(text);
    this.retryScheduleS = read
      .list('RETRY_SCHEDULE_S', '5,30,120,300,900,1800,3600', isSeconds, 'must be a comma-separated list of seconds')
      .map(Number);
    this.retryGiveUpH = read.number('RETRY_GIVE_UP_H', 24, 0);
    const networks = sandbox ? '127.0.0.0/8,::1/128' : '';
    const isAllowed = (text: string) => text === '' || isNetwork(text);
    this.partnerAllowedNetworks = read
      .list(
        'PARTNER_ALLOWED_NETWORKS',
        networks,
        isAllowed,
        'must be a comma-separated list of networks such as 10.0.0.0/8',
      )
      .filter((network) => network !== '');
    this.confirmReplicated = read.integer('CONFIRM_REPLICATED', 0, 0, 100);
  }
}
