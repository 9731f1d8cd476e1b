import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** The records that wait for an operator, of all accounts: few among millions. */
export class EligibilitiesWaitingIndexes1763643200000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const [name, condition] of [
      ['approval', `status = 'PENDING' AND approval_pending AND decline_reason IS NULL`],
      ['hold', `status IN ('PENDING', 'SCHEDULED') AND hold_reason IS NOT NULL`],
    ])
      await buildIndex(
        runner,
        `eligibilities_waiting_${name}_ix`,
        `ON eligibilities (position) INCLUDE (account_code, eligibility_end_date, svc_eligiblity_id)
         WHERE ${condition}`,
      );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
