import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RetakePolicy } from './accounts.commands.js';

@Entity('tests')
export class Test {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text')
  test_code: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  name: string;

  @Column('text', { nullable: true })
  exam_code: string | null;

  @Column('text', { nullable: true })
  launch_url: string | null;

  @Column('int', { nullable: true })
  duration_minutes: number | null;

  @Column('int', { nullable: true })
  change_cutoff_hours: number | null;

  @Column('int', { nullable: true })
  launch_minutes_before: number | null;

  @Column('jsonb', { nullable: true })
  retake: RetakePolicy | null;
}
