import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** The photos and video links that there are, oldest first: what an account keeps for a time is found without a walk. */
export class ResultsMediaIndexes1763642540000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const media of ['photo', 'video_link'])
      await buildIndex(
        runner,
        `result_revisions_${media}_ix`,
        `ON result_revisions (account_code, received_datetime) WHERE ${media} IS NOT NULL`,
      );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
