import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { OverloadConfig } from './overload.config.js';
import { rateLimited } from '../errors.js';
import { networkOf } from './address.js';
import { showQuota } from './quota-headers.js';

const QUOTA = 1200;
const WINDOW_S = 60;
const PER_MS = QUOTA / (WINDOW_S * 1000);
/** The number of bytes of a document that count as one request against the quota of an address. */
const BYTES_OF_ONE = 32 * 1024;
const MOST_BUCKETS = 10_000;

interface Bucket {
  /** The number of requests that the address had left at the time `at` (in milliseconds). */
  left: number;
  at: number;
}

/**
 * Limits, for each client address, the requests to public routes and the refused requests of unauthenticated callers.
 * The limit is a token bucket in the memory of this process. The quota is large enough for the people behind one
 * address, and too small to keep a process busy. The limit is off if the rate limit for authenticated callers is off.
 * The rate-limiter-flexible package was considered, but it counts in fixed windows instead of a token bucket, and does
 * not limit the number of keys that it stores.
 */
@Injectable()
export class AddressLimit {
  private readonly buckets = new Map<string, Bucket>();
  private readonly counted = new WeakSet<Request>();
  private readonly off: boolean;

  constructor(config: OverloadConfig) {
    this.off = config.rateLimitPerMinute === 0;
  }

  /**
   * Counts the request, at most once, and sets the response headers that show the quota of the address.
   * @throws DomainError rate_limited
   */
  count(request: Request, response: Response): void {
    if (this.off || this.counted.has(request)) return;
    this.counted.add(request);
    const bucket = this.bucketOf(request);
    const exhausted = bucket.left < 1;
    if (!exhausted) bucket.left--;
    this.setHeaders(bucket, response);
    if (exhausted)
      throw rateLimited.error({ headers: { 'Retry-After': String(Math.ceil((1 - bucket.left) / PER_MS / 1000)) } });
  }

  /** Charges a large response to the quota of the address, and updates the headers that show the quota. */
  charge(request: Request, response: Response, bytes: number): void {
    const more = Math.floor(bytes / BYTES_OF_ONE);
    if (this.off || more === 0) return;
    const bucket = this.bucketOf(request);
    // The remaining quota must not fall below this value, because an address that requests many documents in parallel
    // would otherwise be blocked for hours.
    bucket.left = Math.max(-QUOTA, bucket.left - more);
    this.setHeaders(bucket, response);
  }

  /**
   * Sets the headers that show the quota of the address on the response to an unauthenticated caller. The request is
   * not counted.
   */
  show(request: Request, response: Response): void {
    if (!this.off) this.setHeaders(this.bucketOf(request), response);
  }

  private setHeaders({ left }: Bucket, response: Response): void {
    const seconds = Math.ceil((QUOTA - left) / PER_MS / 1000);
    showQuota(response, { name: 'public', quota: QUOTA, windowS: WINDOW_S, left: Math.floor(left), seconds });
  }

  private bucketOf(request: Request): Bucket {
    const key = networkOf(request);
    const now = Date.now();
    let bucket = this.buckets.get(key);
    if (!bucket) {
      if (this.buckets.size >= MOST_BUCKETS) this.forgetFull(now);
      this.buckets.set(key, (bucket = { left: QUOTA, at: now }));
    }
    bucket.left = Math.min(QUOTA, bucket.left + (now - bucket.at) * PER_MS);
    bucket.at = now;
    return bucket;
  }

  /** Removes the full token buckets. If there are still too many addresses, removes all buckets. */
  private forgetFull(now: number): void {
    for (const [key, { left, at }] of this.buckets) if (left + (now - at) * PER_MS >= QUOTA) this.buckets.delete(key);
    if (this.buckets.size >= MOST_BUCKETS) this.buckets.clear();
  }
}
