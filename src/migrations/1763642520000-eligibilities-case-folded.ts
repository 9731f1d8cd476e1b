import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** What is found in any case: candidates by how anything of them begins, and live records by their e-mail address. */
export class EligibilitiesCaseFolded1763642520000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const search = (name: string, text: string, where = '') =>
      buildIndex(
        runner,
        `eligibilities_search_${name}_ix`,
        `ON eligibilities (account_code, case_folded(${text}) text_pattern_ops, position) ${where}`,
      );
    await search('candidate', 'candidate_id');
    await search('last_name', 'last_name');
    await search('name', `first_name || ' ' || last_name`);
    await search('email', 'email', 'WHERE email IS NOT NULL');
    await search('client_id', 'client_eligibility_id', 'WHERE client_eligibility_id IS NOT NULL');
    await buildIndex(
      runner,
      'eligibilities_live_email_key_ix',
      `ON eligibilities (account_code, test_code, case_folded(email))
       WHERE status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED') AND email IS NOT NULL`,
    );
    // Of 0.1.0: a process of it that still runs finds such a record through the account's list.
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS eligibilities_live_email_ix');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
