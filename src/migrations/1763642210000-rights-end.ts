import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RightsEnd1763642210000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // True for the families of before: only the password grant and the form of the console made any.
    await runner.query(`ALTER TABLE token_families ADD COLUMN by_password boolean NOT NULL DEFAULT true`);

    // Whoever takes a right away, by whatever statement, ends the families that had it: giving it back revives none.
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

    await runner.query(`
      ALTER TABLE applications ADD CONSTRAINT applications_console_stays CHECK
        (consumer_key <> 'CONSOLEOFTHISSERVICE' OR (NOT disabled AND scopes @> '{admin}'))
    `);

    // 1. The lock puts all changes that end an operator in an order: of two at once the second sees what the first left.
    // 2. An operator who can still sign in counts: by password, unless sign_in.passwords is off, or as somebody at the
    //    provider of sign_in.issuer. A statement outside of the service sets neither; then every operator counts.
    // 3. The end of an operator who cannot sign in is refused only when no operator at all would be left.
    // A setting that an earlier transaction of the connection had is empty, not null.
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
