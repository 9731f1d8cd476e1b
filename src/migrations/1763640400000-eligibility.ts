import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Eligibility1763640400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- EXPIRED is only stored once a newer record has replaced a record whose window is over. Before that, reads
      -- derive the status.
      CREATE TABLE eligibilities (
        svc_eligiblity_id text CONSTRAINT eligibilities_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY,
        account_code text NOT NULL,
        candidate_id text NOT NULL,
        test_code text NOT NULL,
        client_eligibility_id text,
        status text NOT NULL,
        hold_reason text,
        approval_pending boolean NOT NULL,
        decline_reason text,
        booking_code text,
        booking_on timestamptz,
        last_event_at timestamptz,
        schedule_start_date timestamptz,
        eligibility_end_date timestamptz,
        registration_mode text,
        portion_codes text[] NOT NULL,
        first_name text NOT NULL,
        middle_name text,
        last_name text NOT NULL,
        suffix text,
        address1 text,
        address2 text,
        city text,
        province_state text,
        postal_code text,
        country text,
        email text,
        home_phone text,
        office_phone text,
        school_code text,
        special_accommodations text[] NOT NULL,
        additional_attributes jsonb NOT NULL,
        created_datetime timestamptz NOT NULL,
        updated_datetime timestamptz NOT NULL,
        erased_datetime timestamptz,
        CONSTRAINT eligibilities_id_form CHECK (svc_eligiblity_id ~ '^[A-HJKMNP-TV-Z2-9]{8}$'),
        CONSTRAINT eligibilities_status_known CHECK
          (status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED', 'COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED')),
        CONSTRAINT eligibilities_pending_reason CHECK
          (status NOT IN ('PENDING', 'ELIGIBLE') OR (status = 'PENDING') = (approval_pending OR hold_reason IS NOT NULL)),
        CONSTRAINT eligibilities_scheduled_booking CHECK
          ((status = 'SCHEDULED') = (booking_code IS NOT NULL) AND (booking_code IS NULL) = (booking_on IS NULL)),
        CONSTRAINT eligibilities_window_order CHECK (eligibility_end_date > schedule_start_date),
        CONSTRAINT eligibilities_test_fk FOREIGN KEY (account_code, test_code) REFERENCES tests,
        CONSTRAINT eligibilities_school_fk FOREIGN KEY (account_code, school_code) REFERENCES schools
      );
      CREATE UNIQUE INDEX eligibilities_live_key ON eligibilities (account_code, candidate_id, test_code)
        WHERE status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED');
      CREATE UNIQUE INDEX eligibilities_client_id_key ON eligibilities (account_code, client_eligibility_id)
        WHERE status <> 'CANCELLED' AND client_eligibility_id IS NOT NULL;
      CREATE INDEX eligibilities_candidate_ix ON eligibilities (account_code, candidate_id, test_code, position DESC);

      -- Records by account, by status, and by test. A filter that matches nothing therefore reads nothing.
      CREATE INDEX eligibilities_account_ix ON eligibilities (account_code, position DESC);
      CREATE INDEX eligibilities_status_ix ON eligibilities (account_code, status, position DESC);
      CREATE INDEX eligibilities_test_ix ON eligibilities (account_code, test_code, status, position DESC);
      CREATE INDEX eligibilities_updated_ix ON eligibilities (account_code, updated_datetime);
      -- The open records by the end of their windows: for the expiry sweep, and for records that expired in an account
      -- since a given time.
      CREATE INDEX eligibilities_expiry_ix ON eligibilities (eligibility_end_date, account_code)
        WHERE status IN ('PENDING', 'ELIGIBLE') AND eligibility_end_date IS NOT NULL;

      -- Candidates by the beginning of each searched value, in any case.
      CREATE INDEX eligibilities_search_candidate_ix ON eligibilities
        (account_code, case_folded(candidate_id) text_pattern_ops, position);
      CREATE INDEX eligibilities_search_last_name_ix ON eligibilities
        (account_code, case_folded(last_name) text_pattern_ops, position);
      CREATE INDEX eligibilities_search_name_ix ON eligibilities
        (account_code, case_folded(first_name || ' ' || last_name) text_pattern_ops, position);
      CREATE INDEX eligibilities_search_email_ix ON eligibilities
        (account_code, case_folded(email) text_pattern_ops, position) WHERE email IS NOT NULL;
      CREATE INDEX eligibilities_search_client_id_ix ON eligibilities
        (account_code, case_folded(client_eligibility_id) text_pattern_ops, position)
        WHERE client_eligibility_id IS NOT NULL;
      -- Records by their ids, regardless of case, blanks and punctuation, to suggest exams for an unmatched result.
      CREATE INDEX eligibilities_plain_candidate_ix ON eligibilities (plain_id(candidate_id), account_code);
      CREATE INDEX eligibilities_plain_client_id_ix ON eligibilities (plain_id(client_eligibility_id), account_code)
        WHERE client_eligibility_id IS NOT NULL;
      -- A result may name only a test and an e-mail address.
      CREATE INDEX eligibilities_live_email_key_ix ON eligibilities (account_code, test_code, case_folded(email))
        WHERE status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED') AND email IS NOT NULL;

      -- The records of all accounts that wait for an operator, which are few among millions.
      CREATE INDEX eligibilities_waiting_approval_ix ON eligibilities (position)
        INCLUDE (account_code, eligibility_end_date, svc_eligiblity_id)
        WHERE status = 'PENDING' AND approval_pending AND decline_reason IS NULL;
      CREATE INDEX eligibilities_waiting_hold_ix ON eligibilities (position)
        INCLUDE (account_code, eligibility_end_date, svc_eligiblity_id)
        WHERE status IN ('PENDING', 'SCHEDULED') AND hold_reason IS NOT NULL;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
