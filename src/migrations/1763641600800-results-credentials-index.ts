import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

export class ResultsCredentialsIndex1763641600800 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // What is still to be converted: they empty themselves.
    await buildIndex(
      runner,
      'result_revisions_whole_ix',
      'ON result_revisions (svc_eligiblity_id, revision) WHERE NOT credentials_apart',
    );
    await buildIndex(runner, 'unmatched_results_whole_ix', 'ON unmatched_results (id) WHERE NOT credentials_apart');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
