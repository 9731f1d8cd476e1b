import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Imports1763641000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- The position orders imports of the same millisecond, so that no page of their list omits one.
      CREATE TABLE eligibility_imports (
        import_id uuid CONSTRAINT eligibility_imports_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY,
        account_code text NOT NULL CONSTRAINT eligibility_imports_account_fk REFERENCES accounts,
        state text NOT NULL,
        ending text,
        dry_run boolean NOT NULL,
        username text NOT NULL,
        consumer_key text NOT NULL,
        scopes text[] NOT NULL,
        request_id text,
        idempotency_key text,
        columns text[],
        rows int NOT NULL DEFAULT 0,
        done int NOT NULL DEFAULT 0,
        created int NOT NULL DEFAULT 0,
        updated int NOT NULL DEFAULT 0,
        unchanged int NOT NULL DEFAULT 0,
        cancelled int NOT NULL DEFAULT 0,
        refused int NOT NULL DEFAULT 0,
        next_chunk int NOT NULL DEFAULT 0,
        lease_token uuid,
        leased_until timestamptz,
        served_datetime timestamptz,
        received_datetime timestamptz NOT NULL,
        started_datetime timestamptz,
        finished_datetime timestamptz,
        CONSTRAINT eligibility_imports_state_known CHECK (state IN ('RECEIVING', 'RUNNING', 'DONE', 'FAILED', 'ABORTED')),
        CONSTRAINT eligibility_imports_ending_known CHECK
          (ending IN ('ABORTED', 'ABORTED_BY_OPERATOR', 'ACCESS_LOST', 'BODY_LOST')),
        CONSTRAINT eligibility_imports_ending_when CHECK ((ending IS NOT NULL) = (state IN ('FAILED', 'ABORTED'))),
        CONSTRAINT eligibility_imports_finished_when CHECK
          ((finished_datetime IS NOT NULL) = (state IN ('DONE', 'FAILED', 'ABORTED'))),
        CONSTRAINT eligibility_imports_each_row_once CHECK
          (done <= rows AND created + updated + unchanged + cancelled + refused = done)
      );
      CREATE UNIQUE INDEX eligibility_imports_position_ix ON eligibility_imports (position);
      CREATE INDEX eligibility_imports_open_ix ON eligibility_imports (served_datetime)
        WHERE state IN ('RECEIVING', 'RUNNING');
      -- Only one body at a time may use a key. The answer of a finished import is stored with the answers of other
      -- requests.
      CREATE UNIQUE INDEX eligibility_imports_key_in_use ON eligibility_imports (consumer_key, username, idempotency_key)
        WHERE state = 'RECEIVING';
      CREATE INDEX eligibility_imports_finished_ix ON eligibility_imports (finished_datetime);

      CREATE TABLE eligibility_import_turns (
        account_code text CONSTRAINT eligibility_import_turns_pk PRIMARY KEY
          CONSTRAINT eligibility_import_turns_account_fk REFERENCES accounts,
        served_datetime timestamptz NOT NULL
      );

      -- The rows of a chunk are encrypted until they are processed, and then deleted; the outcomes stay. EXTERNAL
      -- avoids the useless compression of encrypted values.
      CREATE TABLE eligibility_import_chunks (
        import_id uuid NOT NULL CONSTRAINT eligibility_import_chunks_import_fk REFERENCES eligibility_imports
          ON DELETE CASCADE,
        chunk int NOT NULL,
        first_row int NOT NULL,
        rows bytea,
        outcomes jsonb,
        CONSTRAINT eligibility_import_chunks_pk PRIMARY KEY (import_id, chunk)
      );
      ALTER TABLE eligibility_import_chunks ALTER rows SET STORAGE EXTERNAL;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
