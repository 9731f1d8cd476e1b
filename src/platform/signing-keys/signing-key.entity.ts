import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('signing_keys')
export class SigningKey {
  @PrimaryColumn('text')
  kid: string;

  @Column('jsonb')
  public_jwk: unknown;

  @Column('bytea')
  private_key: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  created_at: Date;
}
