import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Currencies have up to four decimals. A numeric without a bound takes what the column had as it stands: the table is not
 * written anew.
 */
export class VoucherDecimals1763643600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE vouchers ALTER COLUMN discount_value TYPE numeric');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
