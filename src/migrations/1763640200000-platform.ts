import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Collations with Unicode rules, in order of preference. Every PostgreSQL cluster has some of them, whatever its own
 * collation is.
 */
const COLLATIONS = ['pg_unicode_fast', 'pg_c_utf8', 'und-x-icu', 'C.utf8', 'C.UTF-8', 'en_US.utf8', 'default'];

/**
 * Returns the function that compares texts regardless of case. The built-in `lower` handles only ASCII in a cluster
 * with the collation C.
 */
async function caseFolding(runner: QueryRunner): Promise<string> {
  const rows = (await runner.query(
    `SELECT collname FROM pg_collation
     WHERE collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, pg_char_to_encoding('UTF8'))`,
  )) as { collname: string }[];
  const present = new Set(rows.map(({ collname }) => collname));
  const collation = COLLATIONS.find((name) => present.has(name))!;
  // The text is converted to upper case first, so that a letter with several lower-case forms always gets the same one.
  // Otherwise, the final sigma would depend on the letter that follows.
  return `
    CREATE FUNCTION case_folded(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace(lower(upper(given COLLATE pg_catalog."${collation}")), 'ς', 'σ')`;
}

/**
 * A function that normalizes ids: it removes case, blanks and punctuation, so that the spellings of an id in two
 * systems become equal.
 */
const PLAIN_ID = `
  CREATE FUNCTION plain_id(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN regexp_replace(case_folded(given) COLLATE pg_catalog."C", '[\\x01-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7f]', '', 'g')`;

export class Platform1763640200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE domain_events (
        event_id uuid CONSTRAINT domain_events_pk PRIMARY KEY,
        name text NOT NULL,
        account_code text NOT NULL,
        stream text NOT NULL,
        sequence int NOT NULL,
        data json NOT NULL,
        occurred_at timestamptz NOT NULL,
        traceparent text,
        claimed_until timestamptz NOT NULL,
        settled_at timestamptz,
        set_aside_at timestamptz,
        CONSTRAINT domain_events_sequence_key UNIQUE (stream, sequence)
      );
      CREATE INDEX domain_events_unsettled_ix ON domain_events (claimed_until) WHERE settled_at IS NULL;
      CREATE INDEX domain_events_settled_ix ON domain_events (settled_at) WHERE settled_at IS NOT NULL;

      CREATE TABLE audit_log (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_log_pk PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now(),
        actor text NOT NULL,
        application text,
        action text NOT NULL,
        subject text NOT NULL,
        account_code text,
        changed text[],
        count int,
        request_id text,
        address text
      );
      CREATE INDEX audit_log_subject_ix ON audit_log (subject, id);
      CREATE INDEX audit_log_actor_ix ON audit_log (actor, id);
      CREATE INDEX audit_log_account_ix ON audit_log (account_code, id);

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
      );

      CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'audit_log is append-only'; END $$;
      CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
      CREATE TRIGGER audit_seals_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

      CREATE TABLE idempotency_keys (
        consumer_key text NOT NULL,
        username text NOT NULL,
        idempotency_key text NOT NULL,
        request_hash bytea NOT NULL,
        status int NOT NULL,
        body text,
        subjects text[] NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT idempotency_keys_pk PRIMARY KEY (consumer_key, username, idempotency_key)
      );
      CREATE INDEX idempotency_keys_created_ix ON idempotency_keys (created_at);

      CREATE TABLE jobs (
        id uuid CONSTRAINT jobs_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT jobs_position_key UNIQUE,
        kind text NOT NULL,
        state text NOT NULL DEFAULT 'PREPARING',
        paused_because text,
        paused_by text,
        account_code text,
        filter jsonb NOT NULL,
        reason text NOT NULL,
        unmatched_results uuid[],
        actor text NOT NULL,
        prepared_to bigint NOT NULL DEFAULT 0,
        matched int,
        created_datetime timestamptz NOT NULL DEFAULT statement_timestamp(),
        CONSTRAINT jobs_kind_known CHECK (kind IN ('RESEND', 'REPLAY', 'RESOLVE', 'ERASE')),
        CONSTRAINT jobs_state_known CHECK (state IN ('PREPARING', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED')),
        CONSTRAINT jobs_matched_when_prepared CHECK (matched IS NOT NULL OR state NOT IN ('RUNNING', 'DONE'))
      );
      CREATE INDEX jobs_active_ix ON jobs (position) WHERE state IN ('PREPARING', 'RUNNING', 'PAUSED');

      CREATE TABLE signing_keys (
        kid text CONSTRAINT signing_keys_pk PRIMARY KEY,
        public_jwk jsonb NOT NULL,
        private_key bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );

      -- A table that was empty when it was vacuumed counts as empty until it is analysed. Every index is then as good
      -- as any other, and such plans are kept. The function runs as the owner of the tables, because the service's role
      -- does not own them.
      CREATE FUNCTION analyse_grown_tables() RETURNS int
      LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
        DECLARE
          grown regclass;
          analysed int := 0;
        BEGIN
          FOR grown IN
            SELECT c.oid FROM pg_class c CROSS JOIN LATERAL (SELECT pg_stat_get_live_tuples(c.oid) AS live) now
            WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
              AND pg_has_role(c.relowner, 'USAGE') AND now.live >= 200 AND now.live > 10 * c.reltuples
          LOOP
            EXECUTE format('ANALYZE (SKIP_LOCKED) %s', grown);
            analysed := analysed + 1;
          END LOOP;
          RETURN analysed;
        END $$;
    `);
    await runner.query(await caseFolding(runner));
    await runner.query(PLAIN_ID);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
