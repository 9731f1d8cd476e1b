import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Jobs1763641300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE jobs (
        id uuid CONSTRAINT jobs_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT jobs_position_key UNIQUE,
        kind text NOT NULL,
        state text NOT NULL DEFAULT 'PREPARING',
        paused_because text,
        account_code text,
        filter jsonb NOT NULL,
        reason text NOT NULL,
        unmatched_results uuid[],
        actor text NOT NULL,
        prepared_to bigint NOT NULL DEFAULT 0,
        matched int,
        waiting int NOT NULL DEFAULT 0,
        sent int NOT NULL DEFAULT 0,
        delivered int NOT NULL DEFAULT 0,
        failed int NOT NULL DEFAULT 0,
        skipped int NOT NULL DEFAULT 0,
        created_datetime timestamptz NOT NULL DEFAULT statement_timestamp(),
        CONSTRAINT jobs_kind_known CHECK (kind IN ('RESEND', 'REPLAY', 'RESOLVE', 'ERASE')),
        CONSTRAINT jobs_state_known CHECK (state IN ('PREPARING', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED')),
        CONSTRAINT jobs_matched_when_prepared CHECK (matched IS NOT NULL OR state NOT IN ('RUNNING', 'DONE'))
      )`);
    await runner.query(
      `CREATE INDEX jobs_active_ix ON jobs (position) WHERE state IN ('PREPARING', 'RUNNING', 'PAUSED')`,
    );
    await runner.query(`
      CREATE TABLE job_parts (
        job_id uuid NOT NULL CONSTRAINT job_parts_job_fk REFERENCES jobs,
        subscription_id uuid NOT NULL,
        state text NOT NULL DEFAULT 'TRYING',
        paused_because text,
        waiting int NOT NULL DEFAULT 0,
        sent int NOT NULL DEFAULT 0,
        delivered int NOT NULL DEFAULT 0,
        failed int NOT NULL DEFAULT 0,
        skipped int NOT NULL DEFAULT 0,
        resolved int NOT NULL DEFAULT 0,
        CONSTRAINT job_parts_pk PRIMARY KEY (job_id, subscription_id),
        CONSTRAINT job_parts_state_known CHECK (state IN ('TRYING', 'OPEN', 'PAUSED')),
        CONSTRAINT job_parts_each_once CHECK (waiting >= 0 AND delivered + failed <= sent)
      )`);
    await runner.query(`
      CREATE TABLE job_items (
        job_id uuid NOT NULL,
        notification_position bigint NOT NULL,
        subscription_id uuid NOT NULL,
        outcome text NOT NULL DEFAULT 'WAITING',
        CONSTRAINT job_items_pk PRIMARY KEY (job_id, notification_position),
        CONSTRAINT job_items_outcome_known
          CHECK (outcome IN ('WAITING', 'SENT', 'DELIVERED', 'FAILED', 'SKIPPED', 'RESOLVED'))
      )`);
    await runner.query(`CREATE INDEX job_items_waiting_ix ON job_items (job_id, subscription_id, notification_position)
      WHERE outcome = 'WAITING'`);

    // resend_id stays for processes of 0.1.0 that still run.
    await runner.query('ALTER TABLE deliveries ADD COLUMN job_id uuid');
    await runner.query('ALTER TABLE deliveries DROP CONSTRAINT deliveries_trigger_known');
    await runner.query(`ALTER TABLE deliveries ADD CONSTRAINT deliveries_trigger_known
      CHECK (trigger IN ('FIRST', 'AUTO', 'MANUAL', 'REPLAY')) NOT VALID`);

    // What 0.1.0 had begun ends: what it handed over still goes out, the rest is in the error queue.
    await runner.query(`
      INSERT INTO jobs (id, kind, state, paused_because, filter, reason, actor, matched, waiting, sent, delivered, failed,
        skipped, created_datetime)
      SELECT id, 'RESEND', CASE WHEN state = 'DONE' THEN 'DONE' ELSE 'ABORTED' END,
        CASE WHEN state IN ('RUNNING', 'PAUSED') THEN 'ended by the upgrade; start it again' END,
        filter, reason, actor, matched, matched - sent - skipped, sent, delivered, failed, skipped, created_datetime
      FROM resend_jobs ORDER BY position`);
    await runner.query(`UPDATE resend_jobs SET state = 'ABORTED' WHERE state IN ('RUNNING', 'PAUSED')`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
