import type { KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { Clock } from '../../platform/clock.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { sha256 } from '../../platform/secrets.js';
import { SigningKeys } from '../../platform/signing-keys/signing-keys.js';
import { PartnerClient, type PartnerEndpoint } from '../partner/partner-client.js';
import { signingKey, webhookSignature } from '../partner/signature.js';
import type { Subscription } from './subscription.entity.js';
import { autoRetryCauses } from './subscription.rules.js';
import { SubscriptionSecrets } from './subscription-secrets.js';

const FIND = prepared(
  'partner-find',
  `SELECT * FROM subscriptions WHERE id = ANY ($1::uuid[])`,
  acrossAccounts.keyInHand,
);

/** Stores the expiries of partners' certificates. $1: subscriptions; $2: expiries. */
const RECORD_CERTIFICATES = prepared(
  'partner-record-certificates',
  `UPDATE subscriptions s SET certificate_not_after = o.not_after
   FROM unnest($1::uuid[], $2::timestamptz[]) AS o (id, not_after)
   WHERE s.id = o.id AND s.certificate_not_after IS DISTINCT FROM o.not_after`,
  acrossAccounts.keyInHand,
);

/**
 * A replaced signing key. Its expiry is stored as a time on the service's clock (`until`) and on the steady clock
 * (`Clock.steadyMs`), because the system clock may be set before the key expires.
 */
interface PreviousKey {
  key: KeyObject;
  until: number;
  steadyUntil: number;
}

/** The data of a partner that is needed to send notifications: its address, its signing keys and its retry settings. */
export class PartnerProfile {
  constructor(
    readonly version: number,
    readonly endpoint: PartnerEndpoint,
    readonly autoRetryOn: readonly string[],
    private readonly newest: KeyObject,
    private readonly previous: readonly PreviousKey[],
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the headers of a notification (Standard Webhooks v1), without the partner's authentication. The timestamp
   * is the machine's time, even in a sandbox with a moved clock: partners compare it with their own clocks.
   */
  headers(notification: {
    id: string;
    body: string;
    event_sequence: number;
    traceparent: string | null;
  }): Record<string, string> {
    const { id, body, event_sequence } = notification;
    const timestamp = Math.floor(Date.now() / 1000);
    const [now, steadyNow] = [this.clock.now().getTime(), this.clock.steadyMs()];
    const signing = this.previous.filter(({ until, steadyUntil }) => now < until || steadyNow < steadyUntil);
    const keys = [this.newest, ...signing.map(({ key }) => key)];
    return {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': webhookSignature(keys, id, timestamp, body),
      'event-sequence': String(event_sequence),
      traceparent: traceparentOf(id, notification.traceparent),
    };
  }
}

/**
 * Returns a `traceparent` that names the notification as the parent span (W3C §3.2). The span belongs to the trace of
 * the request that caused the event or, without such a request, to a new trace.
 */
function traceparentOf(id: string, cause: string | null): string {
  const hex = id.replaceAll('-', '');
  return cause === null ? `00-${hex}-${hex.slice(16)}-00` : `${cause.slice(0, 36)}${hex.slice(16)}${cause.slice(52)}`;
}

/**
 * Caches the profiles of the partners to which this process sends. A profile is valid for one version of its
 * subscription.
 */
@Injectable()
export class PartnerDirectory {
  private readonly profiles = new Map<string, PartnerProfile>();
  /** The certificate expiry, in milliseconds since 1970, that this process stored last for each partner. */
  private readonly recorded = new Map<string, number>();

  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
    private readonly secrets: SubscriptionSecrets,
    private readonly client: PartnerClient,
    private readonly logger: Logger,
    private readonly keys: SigningKeys,
    private readonly clock: Clock,
  ) {}

  /** Returns the profile for this version of the subscription; null if the cached profile has a different version. */
  known(id: string, version: number): PartnerProfile | null {
    const profile = this.profiles.get(id);
    return profile?.version === version ? profile : null;
  }

  /** Reads the current settings of the partners whose version is not cached, in one query. */
  async learn(partners: readonly { subscription_id: string; version: number }[]): Promise<void> {
    const unknown = partners.filter(({ subscription_id: id, version }) => this.known(id, version) === null);
    if (unknown.length === 0) return;
    const ids = [...new Set(unknown.map(({ subscription_id: id }) => id))];
    const read = this.database.query<Subscription>(FIND, [ids]).catch((error: unknown) => {
      this.logger.warn({ err: error }, 'the settings of partners could not be read');
      return [];
    });
    for (const subscription of await read) {
      try {
        this.keep(subscription);
      } catch (error) {
        const { id } = subscription;
        this.logger.error({ err: error, subscription_id: id }, 'the settings of a partner cannot be read');
      }
    }
  }

  private keep(subscription: Subscription): void {
    const { id, version } = subscription;
    const before = this.profiles.get(id);
    if (before?.version === version) return;
    const profile = this.profileOf(subscription);
    this.profiles.set(id, profile);
    // The old connections close after their running attempts, which have their own deadlines.
    if (before && before.endpoint.key !== profile.endpoint.key) void this.client.forget(before.endpoint.key);
  }

  /** Removes the profile and the connections of a deleted partner. */
  forget(id: string): void {
    const known = this.profiles.get(id);
    if (known) void this.client.forget(known.endpoint.key);
    this.profiles.delete(id);
    this.recorded.delete(id);
  }

  /** Stores the expiries of the certificates that partners have shown since the last call. */
  async recordCertificates(): Promise<void> {
    const news = [...this.profiles]
      .map(([id, { endpoint }]) => ({ id, notAfter: this.client.certificateNotAfter(endpoint.key) }))
      .filter(({ id, notAfter }) => notAfter !== null && this.recorded.get(id) !== notAfter.getTime());
    if (news.length === 0) return;
    await this.database.execute(RECORD_CERTIFICATES, [news.map(({ id }) => id), news.map(({ notAfter }) => notAfter)]);
    for (const { id, notAfter } of news) this.recorded.set(id, notAfter!.getTime());
  }

  profileOf(subscription: Subscription): PartnerProfile {
    const { id, version } = subscription;
    const { newest, previous } = this.secrets.openSigning(subscription);
    const aheadMs = this.clock.steadyMs() - this.clock.now().getTime();
    return new PartnerProfile(
      version,
      {
        key: `${id}:${digestOf(subscription)}`,
        url: subscription.partner_url,
        auth: this.secrets.openAuth(subscription),
        signAssertion: (claims) => this.keys.sign(claims),
        caPem: subscription.ca_pem,
        clientCertPem: subscription.client_cert_pem,
        clientKeyPem:
          subscription.client_key === null ? null : this.secrets.open(subscription.client_key, id, 'client-key'),
        waitMs: subscription.wait_ms ?? this.config.waitMs,
        connections: this.config.concurrencyPerPartner,
      },
      // `autoRetryCauses` adds 429, because release 1.0.0 stored this setting without 429 if a request omitted it.
      autoRetryCauses(subscription.auto_retry_on),
      signingKey(newest),
      previous.map(({ secret, until }) => ({ key: signingKey(secret), until, steadyUntil: until + aheadMs })),
      this.clock,
    );
  }
}

/**
 * Returns a digest of the settings on which connections and tokens depend. A suspension does not change the digest, so
 * that the partner keeps its connections and its token.
 */
function digestOf(subscription: Subscription): string {
  const { partner_url, auth, auth_secret, ca_pem, client_cert_pem, client_key, wait_ms } = subscription;
  const settings = [partner_url, auth, auth_secret, ca_pem, client_cert_pem, client_key, wait_ms];
  return sha256(JSON.stringify(settings)).toString('base64');
}
