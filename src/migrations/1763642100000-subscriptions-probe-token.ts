import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SubscriptionsProbeToken1763642100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE subscriptions ADD COLUMN probe_token bigint');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
