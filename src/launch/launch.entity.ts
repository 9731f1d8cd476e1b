import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('launches')
export class Launch {
  @PrimaryColumn('bytea')
  token_hash: Buffer;

  @Column('text')
  svc_eligiblity_id: string;

  @Column('timestamptz')
  expires_at: Date;

  @Column('timestamptz', { nullable: true })
  used_at: Date | null;
}
