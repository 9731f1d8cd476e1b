import type { MigrationInterface, QueryRunner } from 'typeorm';

const SCOPES = `ARRAY['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin', 'support']`;

/**
 * Creates the tables of users and tokens. Credentials are stored only as hashes: passwords as argon2id, secrets and
 * tokens as SHA-256 of 256 random bits. The user names and network addresses of sign-in attempts are stored as HMACs
 * under the service's key.
 */
export class Auth1763640100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE users (
        username text CONSTRAINT users_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT users_position_key UNIQUE,
        password_hash text NOT NULL,
        scopes text[] NOT NULL,
        disabled boolean NOT NULL DEFAULT false,
        created_datetime timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT users_password_is_hashed CHECK (password_hash LIKE '$argon2id$%'),
        CONSTRAINT users_scopes_known CHECK (scopes <@ ${SCOPES})
      );

      CREATE TABLE user_accounts (
        username text NOT NULL CONSTRAINT user_accounts_user_fk REFERENCES users,
        account_code text NOT NULL CONSTRAINT user_accounts_account_fk REFERENCES accounts,
        CONSTRAINT user_accounts_pk PRIMARY KEY (username, account_code)
      );
      CREATE INDEX user_accounts_account_ix ON user_accounts (account_code);

      CREATE TABLE operator_identities (
        issuer text NOT NULL,
        subject text NOT NULL,
        username text NOT NULL CONSTRAINT operator_identities_username_key UNIQUE
          CONSTRAINT operator_identities_user_fk REFERENCES users,
        CONSTRAINT operator_identities_pk PRIMARY KEY (issuer, subject)
      );

      CREATE TABLE finished_sign_ins (
        state_hash bytea CONSTRAINT finished_sign_ins_pk PRIMARY KEY,
        forget_at timestamptz NOT NULL,
        CONSTRAINT finished_sign_ins_state_is_hashed CHECK (octet_length(state_hash) = 32)
      );
      CREATE INDEX finished_sign_ins_forget_ix ON finished_sign_ins (forget_at);

      CREATE TABLE applications (
        consumer_key text CONSTRAINT applications_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT applications_position_key UNIQUE,
        name text NOT NULL,
        secret_hash bytea NOT NULL,
        scopes text[] NOT NULL,
        grants text[] NOT NULL,
        disabled boolean NOT NULL DEFAULT false,
        created_datetime timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT applications_consumer_key_form CHECK (consumer_key ~ '^[A-Z0-9]{20}$'),
        CONSTRAINT applications_secret_is_hashed CHECK (octet_length(secret_hash) = 32),
        CONSTRAINT applications_scopes_known CHECK (scopes <@ ${SCOPES}),
        CONSTRAINT applications_grants_known CHECK (grants <@ ARRAY['password', 'refresh_token']),
        CONSTRAINT applications_console_stays CHECK
          (consumer_key <> 'CONSOLEOFTHISSERVICE' OR (NOT disabled AND scopes @> '{admin}'))
      );

      CREATE TABLE token_families (
        family_id uuid CONSTRAINT token_families_pk PRIMARY KEY,
        consumer_key text NOT NULL CONSTRAINT token_families_application_fk REFERENCES applications,
        username text NOT NULL CONSTRAINT token_families_user_fk REFERENCES users,
        scopes text[] NOT NULL,
        by_password boolean NOT NULL DEFAULT true,
        granted_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        revoked_at timestamptz
      );
      CREATE INDEX token_families_user_ix ON token_families (username) WHERE revoked_at IS NULL;
      CREATE INDEX token_families_application_ix ON token_families (consumer_key) WHERE revoked_at IS NULL;
      CREATE INDEX token_families_expiry_ix ON token_families (expires_at);

      CREATE TABLE access_tokens (
        token_hash bytea CONSTRAINT access_tokens_pk PRIMARY KEY,
        family_id uuid NOT NULL CONSTRAINT access_tokens_family_fk REFERENCES token_families ON DELETE CASCADE,
        scopes text[] NOT NULL,
        issued_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        CONSTRAINT access_tokens_token_is_hashed CHECK (octet_length(token_hash) = 32)
      );
      CREATE INDEX access_tokens_family_ix ON access_tokens (family_id);
      CREATE INDEX access_tokens_expiry_ix ON access_tokens (expires_at);

      CREATE TABLE refresh_tokens (
        token_hash bytea CONSTRAINT refresh_tokens_pk PRIMARY KEY,
        family_id uuid NOT NULL CONSTRAINT refresh_tokens_family_fk REFERENCES token_families ON DELETE CASCADE,
        issued_at timestamptz NOT NULL DEFAULT now(),
        used_at timestamptz,
        CONSTRAINT refresh_tokens_token_is_hashed CHECK (octet_length(token_hash) = 32)
      );
      CREATE INDEX refresh_tokens_family_ix ON refresh_tokens (family_id);

      CREATE TABLE login_attempts (
        username_mac bytea NOT NULL,
        consumer_key text NOT NULL,
        failures int NOT NULL,
        forget_at timestamptz NOT NULL,
        CONSTRAINT login_attempts_pk PRIMARY KEY (username_mac, consumer_key),
        CONSTRAINT login_attempts_failures_not_negative CHECK (failures >= 0)
      );
      CREATE INDEX login_attempts_forget_ix ON login_attempts (forget_at);

      CREATE TABLE token_refusals (
        consumer_key text NOT NULL,
        address_mac bytea NOT NULL,
        since timestamptz NOT NULL,
        refused int NOT NULL,
        name text,
        CONSTRAINT token_refusals_pk PRIMARY KEY (consumer_key, address_mac)
      );
      CREATE INDEX token_refusals_since_ix ON token_refusals (since);

      -- The table is unlogged: every token request writes to it, and a crash loses only the counts of a minute.
      CREATE UNLOGGED TABLE token_request_counts (
        address_mac bytea NOT NULL,
        minute timestamptz NOT NULL,
        requests int NOT NULL,
        CONSTRAINT token_request_counts_pk PRIMARY KEY (address_mac, minute)
      );
      CREATE INDEX token_request_counts_minute_ix ON token_request_counts (minute);
    `);

    // Any statement that removes a right ends the token families that had it. Granting the right again does not revive
    // them.
    await runner.query(`
      CREATE FUNCTION end_families_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE token_families SET revoked_at = now()
          WHERE username = NEW.username AND revoked_at IS NULL
            AND (NEW.disabled <> OLD.disabled OR NEW.password_hash <> OLD.password_hash OR NOT scopes <@ NEW.scopes);
          RETURN NULL;
        END $$;
      CREATE TRIGGER users_end_families AFTER UPDATE ON users FOR EACH ROW
        WHEN (NEW.disabled <> OLD.disabled OR NEW.password_hash <> OLD.password_hash OR NOT OLD.scopes <@ NEW.scopes)
        EXECUTE FUNCTION end_families_of_user();

      CREATE FUNCTION end_families_of_member() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE token_families SET revoked_at = now()
          WHERE username IN (SELECT username FROM taken) AND revoked_at IS NULL;
          RETURN NULL;
        END $$;
      CREATE TRIGGER user_accounts_end_families AFTER DELETE ON user_accounts REFERENCING OLD TABLE AS taken
        FOR EACH STATEMENT EXECUTE FUNCTION end_families_of_member();

      CREATE FUNCTION end_families_of_application() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE token_families SET revoked_at = now()
          WHERE consumer_key = NEW.consumer_key AND revoked_at IS NULL
            AND (NEW.disabled <> OLD.disabled OR NOT scopes <@ NEW.scopes);
          RETURN NULL;
        END $$;
      CREATE TRIGGER applications_end_families AFTER UPDATE ON applications FOR EACH ROW
        WHEN (NEW.disabled <> OLD.disabled OR NOT OLD.scopes <@ NEW.scopes)
        EXECUTE FUNCTION end_families_of_application();
    `);

    // 1. The lock serializes the changes that end an operator: of two concurrent changes, the second sees the result of
    //    the first.
    // 2. An operator counts if able to sign in: by password, unless sign_in.passwords is off, or at the provider of
    //    sign_in.issuer. A statement from outside the service sets neither setting; then every operator counts.
    // 3. The end of an operator who cannot sign in is refused only if no operator at all would be left.
    // A setting from an earlier transaction of the connection is empty, not null.
    await runner.query(`
      CREATE FUNCTION may_sign_in(operator text) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT coalesce(
          (SELECT rtrim(issuer, '/') = rtrim(coalesce(nullif(current_setting('sign_in.issuer', true), ''), issuer), '/')
           FROM operator_identities WHERE username = operator),
          current_setting('sign_in.passwords', true) IS DISTINCT FROM 'off')
      $$;
      CREATE FUNCTION keep_an_operator() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtextextended('operators of the service', 0));
          IF EXISTS (SELECT FROM users WHERE scopes @> '{admin}' AND NOT disabled AND may_sign_in(username)) THEN
            RETURN NULL;
          ELSIF may_sign_in(OLD.username) OR NOT EXISTS (SELECT FROM users WHERE scopes @> '{admin}' AND NOT disabled) THEN
            RAISE EXCEPTION 'no operator would be left'
              USING ERRCODE = 'check_violation', CONSTRAINT = 'users_last_operator', TABLE = 'users';
          END IF;
          RETURN NULL;
        END $$;
      CREATE TRIGGER users_last_operator AFTER UPDATE ON users FOR EACH ROW
        WHEN (OLD.scopes @> '{admin}' AND NOT OLD.disabled AND (NEW.disabled OR NOT NEW.scopes @> '{admin}'))
        EXECUTE FUNCTION keep_an_operator();
      CREATE TRIGGER users_last_operator_deleted AFTER DELETE ON users FOR EACH ROW
        WHEN (OLD.scopes @> '{admin}' AND NOT OLD.disabled)
        EXECUTE FUNCTION keep_an_operator();
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
