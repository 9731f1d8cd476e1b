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

  /**
   * The codes and ids of the records that the request concerned. They have a separate column, because the response may
   * have no body that contains them.
   */
  @Column('text', { array: true, default: '{}' })
  subjects: string[];

  @Column('timestamptz', { default: () => 'now()' })
  created_at: Date;
}
