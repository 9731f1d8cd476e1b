/**
 * Makes a process run as if it were the next release, which does not exist yet: `node --require next-release.js
 * main.js` starts the present release with the planted migrations of this file.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../../../src/platform/database/build-index.js';
import { dataSourceOptions } from '../../../src/schema.js';

const forwardOnly = () => Promise.reject(new Error('Migrations go forward only.'));

/** The migration of the simulated next release adds columns, whose values the present release does not write. */
class NextColumns4102444800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE eligibilities ADD COLUMN planted text;
      ALTER TABLE bookings ADD COLUMN planted int NOT NULL DEFAULT 0;
      CREATE TABLE planted_rows (booking_code text CONSTRAINT planted_rows_pk PRIMARY KEY);
    `);
  }

  down = forwardOnly;
}

class NextIndex4102444800001 implements MigrationInterface {
  readonly transaction = false;

  up(runner: QueryRunner): Promise<void> {
    return buildIndex(runner, 'bookings_planted_ix', 'ON bookings (account_code, planted)');
  }

  down = forwardOnly;
}

(dataSourceOptions('').migrations as unknown[]).push(NextColumns4102444800000, NextIndex4102444800001);
