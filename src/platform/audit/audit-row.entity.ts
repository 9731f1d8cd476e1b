import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('audit_log')
export class AuditRow {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  @Column('text')
  actor: string;

  @Column('text')
  action: string;

  @Column('text')
  subject: string;

  @Column('text', { nullable: true })
  request_id: string | null;
}
