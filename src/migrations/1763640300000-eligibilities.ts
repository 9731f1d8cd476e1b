import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Eligibilities1763640300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // EXPIRED is a stored status only once a newer record has taken the place of one whose window is over;
    // otherwise it is derived at the instant of reading.
    await runner.query(`
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
      CREATE INDEX eligibilities_account_ix ON eligibilities (account_code, position DESC);

      CREATE TABLE voucher_redemptions (
        svc_eligiblity_id text NOT NULL CONSTRAINT voucher_redemptions_eligibility_fk REFERENCES eligibilities,
        account_code text NOT NULL,
        voucher_code text NOT NULL,
        redeemed_datetime timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT voucher_redemptions_pk PRIMARY KEY (svc_eligiblity_id, voucher_code),
        CONSTRAINT voucher_redemptions_voucher_fk FOREIGN KEY (account_code, voucher_code) REFERENCES vouchers
      );
      CREATE INDEX voucher_redemptions_voucher_ix ON voucher_redemptions (account_code, voucher_code);

      CREATE TABLE launches (
        token_hash bytea CONSTRAINT launches_pk PRIMARY KEY,
        svc_eligiblity_id text NOT NULL CONSTRAINT launches_eligibility_fk REFERENCES eligibilities,
        expires_at timestamptz NOT NULL,
        used_at timestamptz
      );
      CREATE INDEX launches_used_ix ON launches (svc_eligiblity_id, used_at) WHERE used_at IS NOT NULL;
      CREATE INDEX launches_unused_ix ON launches (expires_at) WHERE used_at IS NULL;

      CREATE TABLE launch_keys (
        kid text CONSTRAINT launch_keys_pk PRIMARY KEY,
        public_jwk jsonb NOT NULL,
        private_key bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
