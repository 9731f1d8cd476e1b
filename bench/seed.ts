import type { Client } from 'pg';
import type { Scene } from './scene.js';

/** Empties what requests write; the append-only audit log too, whose trigger stands aside for it. */
export async function clearEligibilities(client: Client): Promise<void> {
  await client.query(`SET session_replication_role = replica;
    TRUNCATE eligibilities, audit_log CASCADE;
    SET session_replication_role = origin`);
}

/** Candidates `seeded-1` … with one eligibility each. */
export async function seedEligibilities(client: Client, scene: Scene, count: number): Promise<void> {
  // The number in hexadecimal, with digits that the form of an identifier allows.
  await client.query(
    `INSERT INTO eligibilities (svc_eligiblity_id, account_code, candidate_id, test_code, status, approval_pending,
       schedule_start_date, eligibility_end_date, registration_mode, portion_codes, first_name, middle_name, last_name,
       address1, city, province_state, postal_code, country, email, home_phone, school_code, special_accommodations,
       additional_attributes, created_datetime, updated_datetime)
     SELECT translate(lpad(upper(to_hex(n)), 8, '0'), '01', 'XY'), $1, 'seeded-' || n, $2, 'ELIGIBLE', false,
       '2026-01-01Z', '2036-01-01Z', 'Online', ARRAY[$3::text], 'Ada', 'Byron', 'Lovelace', '12 St James Square', 'Springfield',
       'IL', '62701', 'US', 'ada@example.org', '+1 217 555 0100', $4, ARRAY[$5::text],
       jsonb_build_array(jsonb_build_object('key', $6::text, 'value', '2027')), now() - interval '1 day', now() - interval '1 day'
     FROM generate_series(1, $7::int) AS n`,
    [
      scene.accountCode,
      scene.testCode,
      scene.portionCode,
      scene.schoolCode,
      scene.accommodationCode,
      scene.attributeKey,
      count,
    ],
  );
}
