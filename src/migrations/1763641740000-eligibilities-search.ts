import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** What operators search by, as prefixes in any case; and what changed in an account since a moment. */
export class EligibilitiesSearch1763641740000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const search = (name: string, text: string, where = '') =>
      buildIndex(
        runner,
        `eligibilities_search_${name}_ix`,
        `ON eligibilities (account_code, lower(${text}) text_pattern_ops, position) ${where}`,
      );
    await search('candidate', 'candidate_id');
    await search('last_name', 'last_name');
    await search('name', `first_name || ' ' || last_name`);
    await search('email', 'email', 'WHERE email IS NOT NULL');
    await search('client_id', 'client_eligibility_id', 'WHERE client_eligibility_id IS NOT NULL');
    await buildIndex(runner, 'eligibilities_updated_ix', 'ON eligibilities (account_code, updated_datetime)');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
