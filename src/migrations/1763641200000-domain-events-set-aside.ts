import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DomainEventsSetAside1763641200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE domain_events ADD COLUMN set_aside_at timestamptz');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
