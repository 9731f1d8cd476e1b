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

  @Column('timestamptz', { default: () => 'now()' })
  created_at: Date;
}
