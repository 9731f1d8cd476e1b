import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A table that was empty when it was vacuumed counts as empty until it is analysed: every index is as good as any other then,
 * and what was planned is kept. As its owner, since the role of the service does not own the tables.
 */
export class Statistics1763643450000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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
        END $$`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
