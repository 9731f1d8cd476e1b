import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuthUsersApplicationsTokens1763640100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Credentials are never stored: passwords as argon2id, secrets and tokens as SHA-256 of 256 random bits,
    // user names that somebody tried and addresses as HMACs under the key of the service.
    await runner.query(`
      CREATE TABLE users (
        username text CONSTRAINT users_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT users_position_key UNIQUE,
        password_hash text NOT NULL,
        scopes text[] NOT NULL,
        disabled boolean NOT NULL DEFAULT false,
        created_datetime timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT users_password_is_hashed CHECK (password_hash LIKE '$argon2id$%'),
        CONSTRAINT users_scopes_known CHECK
          (scopes <@ ARRAY['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin'])
      );

      CREATE TABLE user_accounts (
        username text NOT NULL CONSTRAINT user_accounts_user_fk REFERENCES users,
        account_code text NOT NULL CONSTRAINT user_accounts_account_fk REFERENCES accounts,
        CONSTRAINT user_accounts_pk PRIMARY KEY (username, account_code)
      );
      CREATE INDEX user_accounts_account_ix ON user_accounts (account_code);

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
        CONSTRAINT applications_scopes_known CHECK
          (scopes <@ ARRAY['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin']),
        CONSTRAINT applications_grants_known CHECK (grants <@ ARRAY['password', 'refresh_token'])
      );

      CREATE TABLE token_families (
        family_id uuid CONSTRAINT token_families_pk PRIMARY KEY,
        consumer_key text NOT NULL CONSTRAINT token_families_application_fk REFERENCES applications,
        username text NOT NULL CONSTRAINT token_families_user_fk REFERENCES users,
        scopes text[] NOT NULL,
        granted_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        revoked_at timestamptz
      );
      CREATE INDEX token_families_user_ix ON token_families (username) WHERE revoked_at IS NULL;
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
        username_mac bytea CONSTRAINT login_attempts_pk PRIMARY KEY,
        failures int NOT NULL,
        forget_at timestamptz NOT NULL,
        CONSTRAINT login_attempts_failures_not_negative CHECK (failures >= 0)
      );
      CREATE INDEX login_attempts_forget_ix ON login_attempts (forget_at);

      -- Unlogged: written by every token request, and nothing is lost with the counts of a minute.
      CREATE UNLOGGED TABLE token_request_counts (
        address_mac bytea NOT NULL,
        minute timestamptz NOT NULL,
        requests int NOT NULL,
        CONSTRAINT token_request_counts_pk PRIMARY KEY (address_mac, minute)
      );
      CREATE INDEX token_request_counts_minute_ix ON token_request_counts (minute);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
