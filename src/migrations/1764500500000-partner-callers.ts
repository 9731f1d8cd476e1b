import type { MigrationInterface, QueryRunner } from 'typeorm';

const SCOPES = `ARRAY['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin', 'support', 'partner']`;

/**
 * Adds the callers of the partner's side: the scope `partner`, the subscriptions of users and applications, and the
 * grant `client_credentials`, by which an application itself is the caller.
 *
 * Processes of release 1.0.0 refuse the tokens of such an application, because these have no user.
 */
export class PartnerCallers1764500500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users
        ADD COLUMN subscription_ids uuid[] NOT NULL DEFAULT '{}',
        DROP CONSTRAINT users_scopes_known,
        ADD CONSTRAINT users_scopes_known CHECK (scopes <@ ${SCOPES});

      ALTER TABLE applications
        ADD COLUMN account_codes text[] NOT NULL DEFAULT '{}',
        ADD COLUMN subscription_ids uuid[] NOT NULL DEFAULT '{}',
        DROP CONSTRAINT applications_scopes_known,
        ADD CONSTRAINT applications_scopes_known CHECK (scopes <@ ${SCOPES}),
        DROP CONSTRAINT applications_grants_known,
        ADD CONSTRAINT applications_grants_known
          CHECK (grants <@ ARRAY['password', 'refresh_token', 'client_credentials']);

      -- Partners sign in to the console, whose application release 1.0.0 made without the scope.
      UPDATE applications SET scopes = scopes || '{partner}' WHERE consumer_key = 'CONSOLEOFTHISSERVICE';

      ALTER TABLE token_families ALTER COLUMN username DROP NOT NULL;

      -- If the partner itself suspended the subscription, this time equals suspended_datetime. A process that does not
      -- know the column, and suspends the subscription later, sets another suspended_datetime.
      ALTER TABLE subscriptions ADD COLUMN suspended_by_partner timestamptz;

      -- If the subscription was suspended when its address changed, this time equals suspended_datetime.
      ALTER TABLE subscriptions ADD COLUMN suspended_before_move timestamptz;
    `);

    // The functions of release 1.0.0, and the rights that are new.
    await runner.query(`
      CREATE OR REPLACE FUNCTION end_families_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE token_families SET revoked_at = now()
          WHERE username = NEW.username AND revoked_at IS NULL
            AND (NEW.disabled <> OLD.disabled OR NEW.password_hash <> OLD.password_hash OR NOT scopes <@ NEW.scopes
              OR scopes @> '{partner}' AND NOT OLD.subscription_ids <@ NEW.subscription_ids);
          RETURN NULL;
        END $$;
      DROP TRIGGER users_end_families ON users;
      CREATE TRIGGER users_end_families AFTER UPDATE ON users FOR EACH ROW
        WHEN (NEW.disabled <> OLD.disabled OR NEW.password_hash <> OLD.password_hash OR NOT OLD.scopes <@ NEW.scopes
          OR NOT OLD.subscription_ids <@ NEW.subscription_ids)
        EXECUTE FUNCTION end_families_of_user();

      CREATE OR REPLACE FUNCTION end_families_of_application() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE token_families SET revoked_at = now()
          WHERE consumer_key = NEW.consumer_key AND revoked_at IS NULL
            AND (NEW.disabled <> OLD.disabled OR NOT scopes <@ NEW.scopes
              OR username IS NULL AND (NOT OLD.account_codes <@ NEW.account_codes
                OR NOT NEW.grants @> '{client_credentials}'
                OR scopes @> '{partner}' AND NOT OLD.subscription_ids <@ NEW.subscription_ids));
          RETURN NULL;
        END $$;
      DROP TRIGGER applications_end_families ON applications;
      CREATE TRIGGER applications_end_families AFTER UPDATE ON applications FOR EACH ROW
        WHEN (NEW.disabled <> OLD.disabled OR NOT OLD.scopes <@ NEW.scopes OR NOT OLD.grants <@ NEW.grants
          OR NOT OLD.account_codes <@ NEW.account_codes OR NOT OLD.subscription_ids <@ NEW.subscription_ids)
        EXECUTE FUNCTION end_families_of_application();
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
