import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Results1763640800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Bodies are text rather than json, because their content is never queried and must be returned exactly as it was
    // received. EXTERNAL avoids the useless compression of encrypted values. CREATE TABLE supports this option from
    // PostgreSQL 16 on.
    await runner.query(`
      CREATE TABLE result_revisions (
        svc_eligiblity_id text NOT NULL CONSTRAINT result_revisions_eligibility_fk REFERENCES eligibilities,
        revision int NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY,
        account_code text NOT NULL,
        source text NOT NULL,
        body text NOT NULL,
        body_hash bytea NOT NULL,
        photo bytea,
        video_link bytea,
        credentials bytea,
        faults json NOT NULL DEFAULT '[]',
        result_id text,
        simulated boolean NOT NULL,
        username text NOT NULL,
        received_datetime timestamptz NOT NULL,
        CONSTRAINT result_revisions_pk PRIMARY KEY (svc_eligiblity_id, revision),
        CONSTRAINT result_revisions_revision_positive CHECK (revision > 0),
        CONSTRAINT result_revisions_source_known CHECK (source IN ('REGISTRATION', 'ACCOUNT'))
      );
      ALTER TABLE result_revisions ALTER photo SET STORAGE EXTERNAL, ALTER video_link SET STORAGE EXTERNAL;
      CREATE INDEX result_revisions_source_ix ON result_revisions (svc_eligiblity_id, source, revision DESC);
      CREATE INDEX result_revisions_account_body_ix ON result_revisions (account_code, body_hash) WHERE source = 'ACCOUNT';
      -- Serves to recognize, by its body, a registration result that is delivered again when nothing else in it points
      -- to its exam any more.
      CREATE INDEX result_revisions_registration_body_ix ON result_revisions (body_hash) WHERE source = 'REGISTRATION';
      -- The stored photos and video links, oldest first, so that those whose retention period is over are found without
      -- a scan.
      CREATE INDEX result_revisions_photo_ix ON result_revisions (account_code, received_datetime) WHERE photo IS NOT NULL;
      CREATE INDEX result_revisions_video_link_ix ON result_revisions (account_code, received_datetime)
        WHERE video_link IS NOT NULL;

      CREATE TABLE registration_locators (
        svc_eligiblity_id text CONSTRAINT registration_locators_pk PRIMARY KEY
          CONSTRAINT registration_locators_eligibility_fk REFERENCES eligibilities,
        account_code text NOT NULL,
        locator text NOT NULL,
        locator_key text NOT NULL,
        CONSTRAINT registration_locators_locator_key UNIQUE (locator_key, account_code)
      );
      CREATE INDEX registration_locators_plain_ix ON registration_locators (plain_id(locator), account_code);

      CREATE TABLE account_result_ids (
        account_code text NOT NULL,
        result_id text NOT NULL,
        svc_eligiblity_id text NOT NULL CONSTRAINT account_result_ids_eligibility_fk REFERENCES eligibilities,
        CONSTRAINT account_result_ids_pk PRIMARY KEY (account_code, result_id)
      );

      CREATE TABLE unmatched_results (
        id uuid CONSTRAINT unmatched_results_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY,
        source text NOT NULL,
        account_code text,
        account_codes text[] NOT NULL DEFAULT '{}',
        staff_account_codes text[] NOT NULL DEFAULT '{}',
        code text NOT NULL,
        username text NOT NULL,
        body text,
        raw bytea,
        body_hash bytea NOT NULL,
        faults json NOT NULL DEFAULT '[]',
        photo bytea,
        video_link bytea,
        credentials bytea,
        received_datetime timestamptz NOT NULL,
        accepted_datetime timestamptz,
        svc_eligiblity_id text CONSTRAINT unmatched_results_eligibility_fk REFERENCES eligibilities,
        settled_by text,
        accept_reason text,
        rejected_datetime timestamptz,
        rejected_by text,
        reject_reason text,
        CONSTRAINT unmatched_results_source_known CHECK (source IN ('REGISTRATION', 'ACCOUNT')),
        CONSTRAINT unmatched_results_account_route CHECK ((source = 'ACCOUNT') = (account_code IS NOT NULL)),
        CONSTRAINT unmatched_results_staff_of_account CHECK
          (account_code IS NULL OR staff_account_codes <@ ARRAY[account_code]),
        CONSTRAINT unmatched_results_accepted_exam CHECK ((accepted_datetime IS NULL) = (svc_eligiblity_id IS NULL)),
        CONSTRAINT unmatched_results_body_or_raw CHECK ((body IS NULL) = (raw IS NOT NULL))
      );
      ALTER TABLE unmatched_results ALTER photo SET STORAGE EXTERNAL, ALTER video_link SET STORAGE EXTERNAL,
        ALTER raw SET STORAGE EXTERNAL;
      CREATE UNIQUE INDEX unmatched_results_open_key ON unmatched_results (source, account_code, username, body_hash)
        NULLS NOT DISTINCT WHERE accepted_datetime IS NULL;
      CREATE INDEX unmatched_results_open_ix ON unmatched_results (position DESC) WHERE accepted_datetime IS NULL;
      CREATE INDEX unmatched_results_received_ix ON unmatched_results (received_datetime);
      CREATE INDEX unmatched_results_body_ix ON unmatched_results (body_hash);

      CREATE TABLE result_bytes (
        owner text NOT NULL,
        day date NOT NULL,
        bytes bigint NOT NULL,
        quota bigint NOT NULL,
        CONSTRAINT result_bytes_pk PRIMARY KEY (owner, day),
        CONSTRAINT result_bytes_within_quota CHECK (bytes <= quota)
      );
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
