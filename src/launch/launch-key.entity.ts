import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('launch_keys')
export class LaunchKey {
  @PrimaryColumn('text')
  kid: string;

  @Column('jsonb')
  public_jwk: unknown;

  @Column('bytea')
  private_key: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  created_at: Date;
}
