import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../platform/context/caller.js';

export const GRANTS = ['password', 'refresh_token'] as const;
export type Grant = (typeof GRANTS)[number];

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

  @Column('boolean', { default: false })
  disabled: boolean;

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}
