import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ChangeReason } from '../../bookings/bookings.events.js';
import type { ClientAuth } from '../partner/partner-credentials.js';

export type SubscriptionState = 'UNVERIFIED' | 'ACTIVE' | 'SUSPENDED';
export type PartnerHealth = 'UP' | 'DOWN';

/** The members of `auth` that may be shown. */
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

/** A partner that is notified of an account's events. Never removed: its notifications outlive it. */
@Entity('subscriptions')
export class Subscription {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  account_code: string;

  @Column('text')
  partner_url: string;

  @Column('text', { array: true })
  change_reasons: ChangeReason[];

  @Column('jsonb')
  auth: ShownAuth;

  /** Encrypted: JSON of the password, token or client secret, and of the values of headers. */
  @Column('bytea', { nullable: true })
  auth_secret: Buffer | null;

  @Column('text', { nullable: true })
  ca_pem: string | null;

  @Column('text', { nullable: true })
  client_cert_pem: string | null;

  /** Encrypted PEM. */
  @Column('bytea', { nullable: true })
  client_key: Buffer | null;

  @Column('int', { nullable: true })
  wait_ms: number | null;

  @Column('text', { array: true })
  auto_retry_on: string[];

  /** Encrypted, as the partner knows it (`whsec_…`). */
  @Column('bytea')
  signing_secret: Buffer;

  /** Encrypted: JSON of those that were replaced, the newest first, each with its end. */
  @Column('bytea', { nullable: true })
  previous_signing_secrets: Buffer | null;

  /** Since when notifications are kept for it: it is suspended, or its new address waits to be verified. */
  @Column('timestamptz', { nullable: true })
  suspended_datetime: Date | null;

  /** When it was suspended; time that does not count towards giving up. */
  @Column('tstzmultirange', { default: '{}' })
  suspensions: string;

  @Column('text')
  state: SubscriptionState;

  @Column('text')
  health: PartnerHealth;

  /** null: it has always been UP. */
  @Column('timestamptz', { nullable: true })
  health_changed_at: Date | null;

  /** How many probes have failed since the partner turned DOWN. */
  @Column('int', { default: 0 })
  probe_step: number;

  @Column('timestamptz', { nullable: true })
  next_probe_at: Date | null;

  /** When `next_probe_at` was set: by a clock that is behind this moment, the wait is unknown, and is over. */
  @Column('timestamptz', { nullable: true })
  probe_from: Date | null;

  /** The most requests a second that the operator allows; null: no bound. */
  @Column('int', { nullable: true })
  max_per_second: number | null;

  /** When `paused_until` was set; see `probe_from`. */
  @Column('timestamptz', { nullable: true })
  paused_from: Date | null;

  /** The partner is busy: nothing is sent to it before. */
  @Column('timestamptz', { nullable: true })
  paused_until: Date | null;

  /** Requests a second that the partner takes; null: it never said that it was busy, or has long ceased to. */
  @Column('float8', { nullable: true })
  pace: number | null;

  /** The rate that it took when it last said that it was busy. */
  @Column('float8', { nullable: true })
  pace_ceiling: number | null;

  /** Good answers since then, of those for which others waited. */
  @Column('int', { default: 0 })
  pace_good: number;

  /** How often in a row the ceiling was found to be where it was. */
  @Column('int', { default: 0 })
  pace_confirmed: number;

  /** The moment up to which requests have been given out to processes. */
  @Column('timestamptz', { nullable: true })
  paced_to: Date | null;

  /** Since when it has said that it is busy, and taken nothing. */
  @Column('timestamptz', { nullable: true })
  busy_since: Date | null;

  /** The fencing token of the probe that was claimed last, while the partner is DOWN. */
  @Column('bigint', { nullable: true })
  probe_token: number | null;

  /** When the certificate that the partner showed last ends; null until it has shown one. */
  @Column('timestamptz', { nullable: true })
  certificate_not_after: Date | null;

  /** Grows with every change of the settings: what was claimed under an older version is not sent. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz')
  created_datetime: Date;

  @Column('timestamptz')
  updated_datetime: Date;

  @Column('timestamptz', { nullable: true })
  deleted_datetime: Date | null;
}
