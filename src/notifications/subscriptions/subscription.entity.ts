import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ChangeReason } from '../../bookings/bookings.events.js';
import type { RecordChangeName } from '../../platform/changes/change.entity.js';
import type { ClientAuth } from '../partner/partner-credentials.js';

export type SubscriptionState = 'UNVERIFIED' | 'ACTIVE' | 'SUSPENDED';
export type PartnerHealth = 'UP' | 'DOWN';

/** The ways to deliver notifications: the service pushes them to the partner's address, or the partner polls them. */
export const DELIVERIES = ['PUSH', 'POLL'] as const;
export type PartnerDelivery = (typeof DELIVERIES)[number];

/** The parts of `auth` that HTTP responses show. */
export type ShownAuth = { headers?: { name: string }[] } & (
  | { type: 'none' }
  | { type: 'headers' }
  | { type: 'basic'; username: string }
  | { type: 'bearer' }
  | {
      type: 'oauth2_client_credentials';
      token_url: string;
      client_id: string;
      client_auth: ClientAuth;
      scope: string | null;
      audience: string | null;
      resource: string | null;
    }
);

/**
 * A subscription: a partner that is notified of an account's events. The row stays after deletion, because
 * notifications refer to it.
 */
@Entity('subscriptions')
export class Subscription {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  account_code: string;

  /** A readable name for the partner; null if the partner has no name. */
  @Column('text', { nullable: true })
  name: string | null;

  @Column('text', { default: 'PUSH' })
  delivery: PartnerDelivery;

  /** The address of the partner; an empty text for a partner that polls and has no address. */
  @Column('text')
  partner_url: string;

  /**
   * The address that was verified before the partner began to poll; null if no address was verified, or if the partner
   * never polled.
   */
  @Column('text', { nullable: true })
  verified_url: string | null;

  @Column('text', { array: true })
  change_reasons: ChangeReason[];

  /** The kinds of changes to eligibility records that the partner receives at `{partner_url}/changes`. */
  @Column('text', { array: true, default: '{}' })
  record_changes: RecordChangeName[];

  @Column('jsonb')
  auth: ShownAuth;

  /** The encrypted secrets of `auth`, as JSON: the password, token or client secret, and the values of headers. */
  @Column('bytea', { nullable: true })
  auth_secret: Buffer | null;

  @Column('text', { nullable: true })
  ca_pem: string | null;

  @Column('text', { nullable: true })
  client_cert_pem: string | null;

  /** The encrypted private key of the client certificate, in PEM. */
  @Column('bytea', { nullable: true })
  client_key: Buffer | null;

  @Column('int', { nullable: true })
  wait_ms: number | null;

  @Column('text', { array: true })
  auto_retry_on: string[];

  /** The encrypted signing secret, in the form that the partner receives (`whsec_…`). */
  @Column('bytea')
  signing_secret: Buffer;

  /** The encrypted JSON of the replaced signing secrets, newest first, each with its expiry. */
  @Column('bytea', { nullable: true })
  previous_signing_secrets: Buffer | null;

  /**
   * The time since which notifications have been held back, because the subscription is suspended or its new address is
   * not yet verified.
   */
  @Column('timestamptz', { nullable: true })
  suspended_datetime: Date | null;

  /**
   * The time at which the partner itself suspended the subscription; null if an operator suspended it. The value
   * applies only while it equals `suspended_datetime`.
   */
  @Column('timestamptz', { nullable: true })
  suspended_by_partner: Date | null;

  /**
   * The start of the suspension during which the address of the subscription changed; null if the subscription was not
   * suspended then. A value that differs from `suspended_datetime` is out of date and ignored.
   */
  @Column('timestamptz', { nullable: true })
  suspended_before_move: Date | null;

  /** The periods of suspension. They do not count towards the age at which a notification is given up. */
  @Column('tstzmultirange', { default: '{}' })
  suspensions: string;

  @Column('text')
  state: SubscriptionState;

  @Column('text')
  health: PartnerHealth;

  /** The time at which the partner's health last changed; null if the partner has always been UP. */
  @Column('timestamptz', { nullable: true })
  health_changed_at: Date | null;

  /** The number of failed probes since the partner went DOWN. */
  @Column('int', { default: 0 })
  probe_step: number;

  @Column('timestamptz', { nullable: true })
  next_probe_at: Date | null;

  /**
   * The time at which `next_probe_at` was set. If it is in the future, the clock was set back, and the wait for the
   * next probe counts as over.
   */
  @Column('timestamptz', { nullable: true })
  probe_from: Date | null;

  /** The operator's limit on the requests per second to the partner; null means no limit. */
  @Column('int', { nullable: true })
  max_per_second: number | null;

  /** The time at which `paused_until` was set; see `probe_from`. */
  @Column('timestamptz', { nullable: true })
  paused_from: Date | null;

  /** The end of a busy partner's pause. Nothing is sent to the partner before that time. */
  @Column('timestamptz', { nullable: true })
  paused_until: Date | null;

  /**
   * The maximum number of requests per second that are currently sent to the partner. The value is null if the partner
   * has never answered "busy", or has not done so for a long time.
   */
  @Column('float8', { nullable: true })
  pace: number | null;

  /**
   * The throughput of the partner when it last answered "busy". The pace stays close to this value for a while before
   * it rises further.
   */
  @Column('float8', { nullable: true })
  pace_ceiling: number | null;

  /**
   * The number of successful responses since the partner last answered "busy". Each "busy" response makes the number
   * negative, and successful responses raise it again. A successful response counts only if other attempts were waiting
   * for a send time.
   */
  @Column('int', { default: 0 })
  pace_good: number;

  /**
   * The number of consecutive measurements of `pace_ceiling` with about the same result; negative while `pace_ceiling`
   * is only an estimate.
   */
  @Column('int', { default: 0 })
  pace_confirmed: number;

  /** The time until which processes have reserved send times for this partner. */
  @Column('timestamptz', { nullable: true })
  paced_to: Date | null;

  /**
   * The time since which the partner has answered only "busy"; null if it has not answered "busy" since its last
   * success.
   */
  @Column('timestamptz', { nullable: true })
  busy_since: Date | null;

  /** While the partner is DOWN, the fencing token of the probe that was claimed last. */
  @Column('bigint', { nullable: true })
  probe_token: number | null;

  /** The expiry of the certificate that the partner showed last; null if it has not yet shown one. */
  @Column('timestamptz', { nullable: true })
  certificate_not_after: Date | null;

  /**
   * The version of the settings, which increases with every change. A notification that was claimed under an older
   * version is not sent.
   */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz')
  created_datetime: Date;

  @Column('timestamptz')
  updated_datetime: Date;

  @Column('timestamptz', { nullable: true })
  deleted_datetime: Date | null;
}
