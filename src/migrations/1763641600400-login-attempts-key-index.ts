import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

export class LoginAttemptsKeyIndex1763641600400 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(runner, 'login_attempts_key_ix', 'ON login_attempts (username_mac, consumer_key)', true);
    await buildIndex(
      runner,
      'token_families_application_ix',
      'ON token_families (consumer_key) WHERE revoked_at IS NULL',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
