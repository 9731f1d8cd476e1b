import type { EnvironmentReader } from '../environment-reader.js';

/** The settings that limit the rate of requests. */
export class OverloadConfig {
  readonly rateLimitPerMinute: number;

  constructor(read: EnvironmentReader) {
    this.rateLimitPerMinute = read.integer('RATE_LIMIT_PER_MINUTE', 6000, 0, 1e9);
  }
}
