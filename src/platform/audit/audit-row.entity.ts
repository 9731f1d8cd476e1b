import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('audit_log')
export class AuditRow {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  @Column('text')
  actor: string;

  @Column('text', { nullable: true })
  application: string | null;

  @Column('text', { nullable: true })
  account_code: string | null;

  @Column('text')
  action: string;

  @Column('text')
  subject: string;

  @Column('text', { nullable: true })
  request_id: string | null;

  @Column('text', { array: true, nullable: true })
  changed: string[] | null;

  /**
   * The number of refused requests, or of polled notifications, that the audit entry summarizes; null for an entry
   * about one action.
   */
  @Column('int', { nullable: true })
  count: number | null;

  /** The pseudonym of the address from which a refused request came; null for an entry about anything else. */
  @Column('text', { nullable: true })
  address: string | null;
}
