import { Column, Entity, PrimaryColumn } from 'typeorm';

export type ResendItemState = 'WAITING' | 'SENT' | 'DELIVERED' | 'FAILED' | 'SKIPPED';

@Entity('resend_items')
export class ResendItem {
  @PrimaryColumn('uuid')
  resend_id: string;

  @PrimaryColumn('bigint')
  notification_position: number;

  @Column('text', { default: 'WAITING' })
  state: ResendItemState;
}
