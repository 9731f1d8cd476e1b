import { Check, Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import type { Scope } from '../platform/context/caller.js';

export const GRANTS = ['password', 'refresh_token'] as const;
export type Grant = (typeof GRANTS)[number];

/** An OAuth2 client: what a consumer key and secret stand for. */
@Entity('applications')
@Unique('applications_position_key', ['position'])
@Check('applications_consumer_key_form', `consumer_key ~ '^[A-Z0-9]{20}$'`)
@Check('applications_secret_is_hashed', 'octet_length(secret_hash) = 32')
@Check(
  'applications_scopes_known',
  `scopes <@ ARRAY['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin']`,
)
@Check('applications_grants_known', `grants <@ ARRAY['password', 'refresh_token']`)
export class Application {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'applications_pk' })
  consumer_key: string;

  @Column({ type: 'bigint', generated: 'identity', generatedIdentity: 'ALWAYS' })
  position: number;

  @Column('text')
  name: string;

  /** SHA-256 of the consumer secret: 256 random bits need no slow hash. */
  @Column('bytea')
  secret_hash: Buffer;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('text', { array: true })
  grants: Grant[];

  @Column('boolean', { default: false })
  disabled: boolean;

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}
