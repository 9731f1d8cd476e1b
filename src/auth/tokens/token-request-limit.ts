import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { AuthConfig } from '../auth.config.js';
import { Database, prepared } from '../../platform/database/database.js';
import type { ClientNetwork } from '../../platform/overload/address.js';
import { showQuota } from '../../platform/overload/quota-headers.js';
import { Pseudonyms } from './pseudonyms.js';
import { temporarilyUnavailable } from './token.errors.js';

const COUNT = prepared(
  'token-request-count',
  `INSERT INTO token_request_counts AS counted (address_mac, minute, requests)
   VALUES ($1, date_trunc('minute', now()), 1)
   ON CONFLICT ON CONSTRAINT token_request_counts_pk DO UPDATE SET requests = counted.requests + 1
   RETURNING requests, ceil(60 - extract(second FROM now()))::int AS seconds_left`,
);

const WINDOW_S = 60;
/**
 * The maximum number of blocked addresses that the process remembers. For a request from an address that is not
 * remembered, the process asks the database.
 */
const MOST_REMEMBERED = 10_000;

/**
 * Limits the number of token requests from each address in a minute. All processes share the counts. The package
 * rate-limiter-flexible is not used, because it does not limit the number of keys in its memory, and its PostgreSQL
 * store needs its own table.
 */
@Injectable()
export class TokenRequestLimit {
  /**
   * The addresses that have exceeded their quota, each with the time at which its block ends. The process refuses
   * requests from these addresses without a query.
   */
  private readonly exhausted = new Map<string, number>();

  constructor(
    private readonly config: AuthConfig,
    private readonly database: Database,
    private readonly pseudonyms: Pseudonyms,
  ) {}

  /**
   * Counts a token request from the address.
   * @throws OAuthError temporarily_unavailable (429) beyond the quota
   */
  async count(network: ClientNetwork, response: Response): Promise<void> {
    const quota = this.config.tokenRateLimitPerMinute;
    if (quota === 0) return;
    const mac = this.pseudonyms.of('address', network);
    const key = mac.toString('base64');
    const now = Date.now();
    const until = this.exhausted.get(key);
    const show = (left: number, seconds: number) =>
      showQuota(response, { name: 'token', quota, windowS: WINDOW_S, left, seconds });
    if (until !== undefined && until > now) {
      const seconds = Math.ceil((until - now) / 1000);
      show(0, seconds);
      throw tooMany(seconds);
    }
    const row = await this.database.queryOne<{ requests: number; seconds_left: number }>(COUNT, [mac]);
    show(quota - row!.requests, row!.seconds_left);
    if (row!.requests <= quota) return;
    if (this.exhausted.size >= MOST_REMEMBERED) this.exhausted.clear();
    this.exhausted.set(key, now + row!.seconds_left * 1000);
    throw tooMany(row!.seconds_left);
  }
}

function tooMany(retryAfterS: number) {
  return temporarilyUnavailable(429, retryAfterS, 'Too many token requests from this address.');
}
