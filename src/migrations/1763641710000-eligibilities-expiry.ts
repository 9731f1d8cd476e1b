import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** The open records by the end of their windows: what the sweep has to note, and what expired in an account since a moment. */
export class EligibilitiesExpiry1763641710000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const open = `WHERE status IN ('PENDING', 'ELIGIBLE') AND eligibility_end_date IS NOT NULL`;
    await buildIndex(
      runner,
      'eligibilities_expiry_ix',
      `ON eligibilities (eligibility_end_date, account_code) ${open}`,
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
