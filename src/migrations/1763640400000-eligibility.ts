import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The numbers of words of a name, and of characters of a key, that the search keeps. */
const MOST_WORDS = 8;
const LONGEST_KEY = 200;

/**
 * The texts by which operators find a record: `garcia maria` and `maria garcia` for Maria García, a phone number by its
 * last digits (`#` and the digits, last first), a postal code (`@` and the code). A name has one key for each of its
 * words, which begins with this word and continues with the words after it and before it.
 *
 * The keys are a table instead of indexes of the records, because a record is written again with each change of its
 * status. The comparison is by code point (`C`), so that the keys with a prefix are a range in any cluster.
 */
const SEARCH_KEYS = `
  CREATE FUNCTION plain_name(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE
    WHEN given COLLATE pg_catalog."C" ~ '^[a-zA-Z]+( [a-zA-Z]+)*$' THEN lower(given COLLATE pg_catalog."C")
    ELSE btrim(regexp_replace(replace(replace(replace(translate(case_folded(regexp_replace(
      normalize(given, NFKD) COLLATE pg_catalog."C", '[\\u0300-\\u036f\\u00ad\\u02bc\\u2018\\u2019\\u200b-\\u200f''\`´]', '', 'g')),
      'øłđðħı', 'olddhi'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe') COLLATE pg_catalog."C",
      '[\\x01-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\xbf\\u2000-\\u206f\\u3000-\\u3003\\u30fb]+', ' ', 'g')) END;

  CREATE FUNCTION phone_key(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN '#' || reverse(ltrim(regexp_replace(given, '[^0-9]', '', 'g'), '0'));

  CREATE FUNCTION search_keys(first_name text, middle_name text, last_name text, home_phone text, office_phone text,
    postal_code text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  BEGIN ATOMIC
    SELECT left(array_to_string(words[n:] || words[:n - 1], ' '), ${LONGEST_KEY})
    FROM string_to_array(plain_name(concat_ws(' ', first_name, middle_name, last_name)), ' ') AS words,
      generate_series(1, least(cardinality(words), ${MOST_WORDS})) AS n
    UNION ALL
    SELECT left(concat_ws(' ', replace(plain_name(last_name), ' ', ''), plain_name(first_name)), ${LONGEST_KEY})
    WHERE strpos(plain_name(last_name), ' ') > 0
    UNION ALL
    SELECT left(phone_key(home_phone), ${LONGEST_KEY}) WHERE home_phone ~ '[1-9]'
    UNION ALL
    SELECT left(phone_key(office_phone), ${LONGEST_KEY}) WHERE office_phone ~ '[1-9]'
    UNION ALL
    SELECT left('@' || plain_id(postal_code), ${LONGEST_KEY}) WHERE postal_code IS NOT NULL;
  END;

  CREATE TABLE eligibility_search_keys (
    account_code text NOT NULL,
    key text COLLATE pg_catalog."C" NOT NULL,
    svc_eligiblity_id text NOT NULL,
    CONSTRAINT eligibility_search_keys_pk PRIMARY KEY (account_code, key, svc_eligiblity_id)
  );

  CREATE FUNCTION add_search_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO eligibility_search_keys (account_code, key, svc_eligiblity_id)
      SELECT e.account_code, key, e.svc_eligiblity_id
      FROM created e CROSS JOIN LATERAL
        search_keys(e.first_name, e.middle_name, e.last_name, e.home_phone, e.office_phone, e.postal_code) AS key
      ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$;
  CREATE FUNCTION replace_search_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM eligibility_search_keys
      WHERE account_code = OLD.account_code AND svc_eligiblity_id = OLD.svc_eligiblity_id AND key = ANY (ARRAY(SELECT
        search_keys(OLD.first_name, OLD.middle_name, OLD.last_name, OLD.home_phone, OLD.office_phone, OLD.postal_code)));
      IF TG_OP = 'UPDATE' THEN
        INSERT INTO eligibility_search_keys (account_code, key, svc_eligiblity_id)
        SELECT NEW.account_code, key, NEW.svc_eligiblity_id FROM
          search_keys(NEW.first_name, NEW.middle_name, NEW.last_name, NEW.home_phone, NEW.office_phone, NEW.postal_code) AS key
        ON CONFLICT DO NOTHING;
      END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER eligibilities_created AFTER INSERT ON eligibilities REFERENCING NEW TABLE AS created
    FOR EACH STATEMENT EXECUTE FUNCTION add_search_keys();
  CREATE TRIGGER eligibilities_renamed AFTER UPDATE ON eligibilities FOR EACH ROW
    WHEN ((OLD.first_name, OLD.middle_name, OLD.last_name, OLD.home_phone, OLD.office_phone, OLD.postal_code)
      IS DISTINCT FROM
      (NEW.first_name, NEW.middle_name, NEW.last_name, NEW.home_phone, NEW.office_phone, NEW.postal_code))
    EXECUTE FUNCTION replace_search_keys();
  CREATE TRIGGER eligibilities_deleted AFTER DELETE ON eligibilities FOR EACH ROW
    EXECUTE FUNCTION replace_search_keys();
`;

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

      -- Candidates by the beginning of their ids and addresses, in any case. Names have a table of their own.
      CREATE INDEX eligibilities_search_candidate_ix ON eligibilities
        (account_code, case_folded(candidate_id) text_pattern_ops, position);
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
    await runner.query(SEARCH_KEYS);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
