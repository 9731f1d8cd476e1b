import type { EnvironmentReader } from '../platform/environment-reader.js';

/** The settings of the results module. */
export class ResultsConfig {
  /** The maximum total size, in MiB, of the results that are stored for an account in a day; 0 means no limit. */
  readonly mibPerDay: number;

  constructor(read: EnvironmentReader) {
    this.mibPerDay = read.integer('RESULT_MIB_PER_DAY', 16_384, 0, 1e9);
  }
}
