import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RecordChanges1764500200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE subscriptions ADD COLUMN record_changes text[] NOT NULL DEFAULT '{}';

      -- The changes of records that are told to somebody. The statement that writes a change looks here, so that a
      -- change without a listener costs no row.
      CREATE TABLE event_listeners (
        account_code text NOT NULL,
        listener uuid NOT NULL,
        changes text[] NOT NULL,
        CONSTRAINT event_listeners_pk PRIMARY KEY (account_code, listener)
      );

      -- The number of the last change of each record whose account had a listener.
      CREATE TABLE event_streams (
        stream text CONSTRAINT event_streams_pk PRIMARY KEY,
        sequence int NOT NULL
      ) WITH (fillfactor = 80);

      -- The trigger also serves processes of release 1.0.0, which verify and delete subscriptions without knowing their
      -- record changes.
      CREATE FUNCTION keep_event_listener() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          DELETE FROM event_listeners WHERE account_code = NEW.account_code AND listener = NEW.id;
          IF NEW.record_changes <> '{}' AND NEW.deleted_datetime IS NULL
             AND (NEW.state <> 'UNVERIFIED' OR NEW.suspended_datetime IS NOT NULL) THEN
            INSERT INTO event_listeners VALUES (NEW.account_code, NEW.id, NEW.record_changes);
          END IF;
          RETURN NULL;
        END $$;
      CREATE TRIGGER subscriptions_listener_added AFTER INSERT ON subscriptions FOR EACH ROW
        WHEN (NEW.record_changes <> '{}') EXECUTE FUNCTION keep_event_listener();
      CREATE TRIGGER subscriptions_listener_changed
        AFTER UPDATE OF record_changes, state, suspended_datetime, deleted_datetime ON subscriptions FOR EACH ROW
        WHEN (OLD.record_changes <> '{}' OR NEW.record_changes <> '{}') EXECUTE FUNCTION keep_event_listener();
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
