import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AlertContent } from './alert-text.rules.js';

/** A message of an alert. It is stored before it is sent, and its content never changes. */
@Entity('alert_messages')
export class AlertMessage {
  /** The id of the message, which is the same each time it is sent. */
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  alert_name: string;

  @Column('jsonb')
  content: AlertContent;

  @Column('timestamptz')
  created_datetime: Date;

  @Column('timestamptz', { nullable: true })
  sent_datetime: Date | null;
}
