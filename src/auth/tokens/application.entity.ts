import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../platform/context/caller.js';

export const GRANTS = ['password', 'refresh_token', 'client_credentials'] as const;
export type Grant = (typeof GRANTS)[number];
/** The grants of an application if the operator specifies none. */
export const DEFAULT_GRANTS: readonly Grant[] = ['password', 'refresh_token'];

/** An OAuth2 client, which authenticates with a consumer key and a secret. */
@Entity('applications')
export class Application {
  @PrimaryColumn('text')
  consumer_key: string;

  @Column({ type: 'bigint', generated: 'identity', generatedIdentity: 'ALWAYS' })
  position: number;

  @Column('text')
  name: string;

  /** SHA-256 of the consumer secret. A slow hash is unnecessary, because the secret has 256 random bits. */
  @Column('bytea')
  secret_hash: Buffer;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('text', { array: true })
  grants: Grant[];

  /** The accounts that the application may use when it is itself the caller (`client_credentials`). */
  @Column('text', { array: true, default: '{}' })
  account_codes: string[];

  /** The subscriptions that the application may use when it is itself the caller. */
  @Column('uuid', { array: true, default: '{}' })
  subscription_ids: string[];

  @Column('boolean', { default: false })
  disabled: boolean;

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}
