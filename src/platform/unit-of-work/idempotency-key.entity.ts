import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('text')
  consumer_key: string;

  @PrimaryColumn('text')
  username: string;

  @PrimaryColumn('text')
  idempotency_key: string;

  @Column('bytea')
  request_hash: Buffer;

  @Column('int')
  status: number;

  @Column('text', { nullable: true })
  body: string | null;

  /** Codes and ids that the call concerned: its answer may have no body that names them. */
  @Column('text', { array: true, default: '{}' })
  subjects: string[];

  @Column('timestamptz', { default: () => 'now()' })
  created_at: Date;
}
