import { isIPv6 } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import { Database, prepared } from '../platform/database/database.js';
import { Pseudonyms } from './pseudonyms.js';
import { temporarilyUnavailable } from './token.errors.js';

const COUNT = prepared(
  'token-request-count',
  `INSERT INTO token_request_counts AS counted (address_mac, minute, requests)
   VALUES ($1, date_trunc('minute', now()), 1)
   ON CONFLICT ON CONSTRAINT token_request_counts_pk DO UPDATE SET requests = counted.requests + 1
   RETURNING requests, ceil(60 - extract(second FROM now()))::int AS seconds_left`,
);

/** More addresses than this in one minute are a flood of its own; then the database refuses them one by one. */
const MOST_REMEMBERED = 10_000;

/** Token requests a minute for each address, counted by all processes together. */
@Injectable()
export class TokenRequestLimit {
  /** Addresses over their quota and until when: a flood is sent away without asking the database again. */
  private readonly exhausted = new Map<string, number>();

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly pseudonyms: Pseudonyms,
  ) {}

  /** @throws OAuthError temporarily_unavailable (429) beyond the quota */
  async count(address: string): Promise<void> {
    const quota = this.config.tokenRateLimitPerMinute;
    if (quota === 0) return;
    const mac = this.pseudonyms.of('address', networkOf(address));
    const key = mac.toString('base64');
    const now = Date.now();
    const until = this.exhausted.get(key);
    if (until !== undefined && until > now) throw tooMany(Math.ceil((until - now) / 1000));
    const row = await this.database.queryOne<{ requests: number; seconds_left: number }>(COUNT, [mac]);
    if (row!.requests <= quota) return;
    if (this.exhausted.size >= MOST_REMEMBERED) this.exhausted.clear();
    this.exhausted.set(key, now + row!.seconds_left * 1000);
    throw tooMany(row!.seconds_left);
  }
}

function tooMany(retryAfterS: number) {
  return temporarilyUnavailable(429, retryAfterS, 'Too many token requests from this address.');
}

/** An IPv4 address, or the /64 of an IPv6 one: a host has a whole /64 to choose its addresses from. */
export function networkOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!isIPv6(bare)) return bare;
  // The URL parser writes every address in one way, without an IPv4 tail.
  const [front = [], back = []] = new URL(`http://[${bare}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((groups) => groups.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - front.length - back.length).fill('0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':');
}
