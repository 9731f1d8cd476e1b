import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuditSeals1763641600600 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_seals (
        seal_id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_seals_pk PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now(),
        before bytea NOT NULL CONSTRAINT audit_seals_before_key UNIQUE,
        ids bigint[] NOT NULL,
        digests bytea NOT NULL,
        hash bytea NOT NULL,
        through bigint NOT NULL,
        settled bigint,
        horizon bigint NOT NULL,
        key_id bytea NOT NULL,
        mac bytea NOT NULL,
        CONSTRAINT audit_seals_hash_is_sha256 CHECK (octet_length(hash) = 32),
        CONSTRAINT audit_seals_key_id_is_short CHECK (octet_length(key_id) = 4),
        CONSTRAINT audit_seals_mac_is_sha256 CHECK (octet_length(mac) = 32),
        CONSTRAINT audit_seals_digest_of_each CHECK (octet_length(digests) = 8 * cardinality(ids))
      )
    `);
    await runner.query(`
      CREATE TRIGGER audit_seals_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
