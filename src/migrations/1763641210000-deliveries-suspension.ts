import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DeliveriesSuspension1763641210000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE deliveries ADD COLUMN begun boolean NOT NULL DEFAULT false');
    await runner.query(`
      ALTER TABLE subscriptions
        ADD COLUMN suspended_datetime timestamptz,
        ADD COLUMN suspensions tstzmultirange NOT NULL DEFAULT '{}'`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
