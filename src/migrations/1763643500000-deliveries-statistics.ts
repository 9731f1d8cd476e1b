import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The table of what is to be sent is empty most of the time, and that is what VACUUM tells the planner: a burst after a quiet
 * hour met statements planned for a table of one row, which read all of it for each notification. From PostgreSQL 18 on that is taken
 * back: a table that was never looked at counts by its pages, and as ten of them at least. Before 18, the table is analysed as
 * soon as it has grown, and VACUUM leaves it its pages.
 */
export class DeliveriesStatistics1763643500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE deliveries SET (vacuum_truncate = off)');
    await runner.query(`
      CREATE FUNCTION doubt_empty_deliveries() RETURNS void
      LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '100ms' AS $$
        BEGIN
          IF current_setting('server_version_num')::int >= 180000
             AND EXISTS (SELECT FROM pg_class WHERE oid = 'deliveries'::regclass AND reltuples BETWEEN 0 AND 199) THEN
            EXECUTE $restore$ SELECT pg_restore_relation_stats('schemaname', current_schema()::text, 'relname', 'deliveries',
              'relpages', 0, 'reltuples', '-1'::real) $restore$;
          END IF;
        EXCEPTION WHEN lock_not_available THEN
          -- VACUUM is at it, and would give way to who waits for longer.
        END $$`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
