import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { OverloadConfig } from './overload.config.js';
import { rateLimited } from '../errors.js';
import { showQuota } from './quota-headers.js';
import type { Caller } from '../context/caller.js';

const WINDOW_MS = 60_000;

/**
 * Limits the requests per minute for each application and user, in this process alone. If n processes share the
 * requests, the effective limit is between the setting and n times the setting. The rate-limiter-flexible package was
 * considered, but it keeps a timer for each key, although one Map for each minute is enough.
 */
@Injectable()
export class RateLimit {
  private window = 0;
  private counts = new Map<string, number>();

  constructor(private readonly config: OverloadConfig) {}

  /**
   * Counts a request of the caller, and sets the response headers that show the quota
   * (draft-ietf-httpapi-ratelimit-headers).
   */
  count(caller: Caller, response: Response): void {
    const quota = this.config.rateLimitPerMinute;
    if (quota === 0) return;
    const now = Date.now();
    const window = Math.floor(now / WINDOW_MS);
    if (window !== this.window) {
      this.window = window;
      this.counts = new Map();
    }
    const key = `${caller.consumerKey} ${caller.username}`;
    const used = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, used);
    const seconds = Math.ceil(((window + 1) * WINDOW_MS - now) / 1000);
    showQuota(response, { name: 'default', quota, windowS: WINDOW_MS / 1000, left: quota - used, seconds });
    if (used > quota) throw rateLimited.error({ headers: { 'Retry-After': String(seconds) } });
  }
}
