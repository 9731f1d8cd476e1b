import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Changes1763640300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- src/platform/changes/change-log.ts explains the order of the changes.
      CREATE SEQUENCE changes_position;
      CREATE TABLE changes (
        account_code text NOT NULL,
        kind text NOT NULL,
        generation bigint NOT NULL,
        xid bigint NOT NULL,
        position bigint NOT NULL DEFAULT nextval('changes_position'),
        recorded_at timestamptz NOT NULL,
        at timestamptz NOT NULL,
        change text NOT NULL,
        svc_eligiblity_id text NOT NULL,
        candidate_id text NOT NULL,
        test_code text NOT NULL,
        booking_code text,
        status text NOT NULL,
        revision int,
        event_sequence int,
        notification json,
        CONSTRAINT changes_kind_known CHECK (kind IN ('ELIGIBILITY', 'BOOKING', 'RESULT')),
        CONSTRAINT changes_event_whole CHECK ((event_sequence IS NULL) = (notification IS NULL))
      ) PARTITION BY RANGE (recorded_at);
      CREATE INDEX changes_feed_ix ON changes (account_code, kind, generation, xid, position);
      -- Serves the export and the erasure of a candidate, which read the entries about each record.
      CREATE INDEX changes_record_ix ON changes (svc_eligiblity_id);

      -- The table is identified as well as the cluster, because a dump may be restored into its own cluster.
      CREATE TABLE change_epoch (
        only_row boolean NOT NULL DEFAULT true CONSTRAINT change_epoch_pk PRIMARY KEY,
        epoch bigint NOT NULL,
        system_identifier text NOT NULL,
        table_oid bigint NOT NULL,
        -- The end of the newest month whose partition was dropped. Readers see by it which months are missing.
        dropped_until timestamptz,
        CONSTRAINT change_epoch_only_row CHECK (only_row)
      );
      INSERT INTO change_epoch (epoch, system_identifier, table_oid)
      SELECT 1, system_identifier::text, 'changes'::regclass::oid::bigint FROM pg_control_system();

      -- The function runs as the owner, so that the role of the service needs no right to create or drop tables.
      CREATE FUNCTION keep_change_partitions(keep_from timestamptz) RETURNS int
      LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET timezone TO 'UTC' AS $$
        DECLARE
          month timestamptz := date_trunc('month', now());
          name text;
          made int := 0;
          old record;
        BEGIN
          -- Several processes keep the partitions. Only one needs to run at a time.
          IF NOT pg_try_advisory_xact_lock(7031947) THEN RETURN 0; END IF;
          -- A statement that does not get its lock soon is left to the next round, because other statements queue
          -- behind it.
          SET LOCAL lock_timeout = '500ms';
          FOR ahead IN 0..3 LOOP
            name := 'changes_' || to_char(month, 'YYYYMM');
            IF to_regclass(name) IS NULL THEN
              EXECUTE format('CREATE TABLE %I (LIKE changes INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
              EXECUTE format('ALTER TABLE changes ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                name, month, month + interval '1 month');
              made := made + 1;
            END IF;
            month := month + interval '1 month';
          END LOOP;
          FOR old IN
            SELECT relname, to_timestamp(right(relname, 6), 'YYYYMM') AS begins FROM pg_inherits
            JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'changes'::regclass
          LOOP
            IF old.begins + interval '1 month' <= least(keep_from, date_trunc('month', now())) THEN
              EXECUTE format('DROP TABLE %I', old.relname);
              UPDATE change_epoch SET dropped_until = greatest(dropped_until, old.begins + interval '1 month');
            END IF;
          END LOOP;
          RETURN made;
        EXCEPTION WHEN lock_not_available THEN
          RETURN 0;
        END $$;
      SELECT keep_change_partitions('-infinity');
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
