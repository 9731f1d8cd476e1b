import type { EnvironmentReader } from '../platform/environment-reader.js';

/** The settings of the change feed. */
export class ChangesConfig {
  readonly retentionDays: number;

  constructor(read: EnvironmentReader) {
    this.retentionDays = read.integer('CHANGES_RETENTION_DAYS', 400, 1, 36_500);
  }
}
