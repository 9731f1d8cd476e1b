import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Bookings1763640700000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE bookings (
        booking_code text CONSTRAINT bookings_pk PRIMARY KEY,
        svc_eligiblity_id text NOT NULL CONSTRAINT bookings_eligibility_fk REFERENCES eligibilities,
        account_code text NOT NULL,
        candidate_id text NOT NULL,
        test_code text NOT NULL,
        status text NOT NULL,
        booking_on timestamptz NOT NULL,
        delivery_mode text,
        location_code text,
        location_name text,
        location_address text,
        location_timezone text,
        event_sequence int NOT NULL DEFAULT 0,
        created_datetime timestamptz NOT NULL,
        updated_datetime timestamptz NOT NULL,
        CONSTRAINT bookings_code_form CHECK (booking_code ~ '^[A-Z0-9]{10}$'),
        CONSTRAINT bookings_status_known CHECK (status IN ('BOOKED', 'CANCELLED', 'COMPLETED', 'ABSENT', 'EXCUSED_ABSENT')),
        CONSTRAINT bookings_delivery_mode_known CHECK (delivery_mode IN ('SITE_PROCTORED', 'SVC_REMOTE_PROCTORED'))
      );
      CREATE UNIQUE INDEX bookings_open_key ON bookings (svc_eligiblity_id) WHERE status = 'BOOKED';
      CREATE INDEX bookings_eligibility_ix ON bookings (svc_eligiblity_id, created_datetime DESC);
      CREATE INDEX bookings_candidate_ix ON bookings (account_code, candidate_id, created_datetime DESC, booking_code);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
