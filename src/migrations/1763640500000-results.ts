import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Results1763640500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Bodies are text: json would do, but nothing inside of them is ever asked for, and text is given back as it came.
    // What is encrypted does not shrink: EXTERNAL spares the attempt.
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

      CREATE TABLE registration_locators (
        svc_eligiblity_id text CONSTRAINT registration_locators_pk PRIMARY KEY
          CONSTRAINT registration_locators_eligibility_fk REFERENCES eligibilities,
        account_code text NOT NULL,
        locator text NOT NULL,
        locator_key text NOT NULL,
        CONSTRAINT registration_locators_locator_key UNIQUE (locator_key, account_code)
      );

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
        code text NOT NULL,
        username text NOT NULL,
        body text,
        raw bytea,
        faults json NOT NULL DEFAULT '[]',
        body_hash bytea NOT NULL,
        photo bytea,
        video_link bytea,
        received_datetime timestamptz NOT NULL,
        accepted_datetime timestamptz,
        accept_reason text,
        svc_eligiblity_id text CONSTRAINT unmatched_results_eligibility_fk REFERENCES eligibilities,
        CONSTRAINT unmatched_results_body_or_raw CHECK ((body IS NULL) = (raw IS NOT NULL)),
        CONSTRAINT unmatched_results_source_known CHECK (source IN ('REGISTRATION', 'ACCOUNT')),
        CONSTRAINT unmatched_results_account_route CHECK ((source = 'ACCOUNT') = (account_code IS NOT NULL)),
        CONSTRAINT unmatched_results_accepted_exam CHECK ((accepted_datetime IS NULL) = (svc_eligiblity_id IS NULL))
      );
      ALTER TABLE unmatched_results ALTER photo SET STORAGE EXTERNAL, ALTER video_link SET STORAGE EXTERNAL,
        ALTER raw SET STORAGE EXTERNAL;
      CREATE UNIQUE INDEX unmatched_results_open_key ON unmatched_results (source, account_code, username, body_hash)
        NULLS NOT DISTINCT WHERE accepted_datetime IS NULL;
      CREATE INDEX unmatched_results_body_ix ON unmatched_results (body_hash);
      CREATE INDEX unmatched_results_open_ix ON unmatched_results (position DESC) WHERE accepted_datetime IS NULL;
      CREATE INDEX unmatched_results_received_ix ON unmatched_results (received_datetime);

      -- A result may name no more than a test and an e-mail address.
      CREATE INDEX eligibilities_live_email_ix ON eligibilities (account_code, test_code, lower(email))
        WHERE status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED') AND email IS NOT NULL;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
