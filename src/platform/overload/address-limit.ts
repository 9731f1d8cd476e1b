import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Config } from '../../config.js';
import { rateLimited } from '../errors.js';
import { networkOf } from './address.js';
import { showQuota } from './quota-headers.js';

const QUOTA = 1200;
const WINDOW_S = 60;
const PER_MS = QUOTA / (WINDOW_S * 1000);
/** A document counts as a request for each so many bytes of it. */
const BYTES_OF_ONE = 32 * 1024;
const MOST_BUCKETS = 10_000;

interface Bucket {
  /** The tokens left at the moment `at`, in milliseconds. */
  left: number;
  at: number;
}

/**
 * Requests of public routes, and what strangers are refused, for each address, by a token bucket in this process: enough for
 * the people behind one address, too little to keep a process busy. Off when the callers' rate limit is.
 * rate-limiter-flexible was considered: it has windows and no bucket, and no bound of the keys that a flood of addresses makes.
 */
@Injectable()
export class AddressLimit {
  private readonly buckets = new Map<string, Bucket>();
  private readonly counted = new WeakSet<Request>();
  private readonly off: boolean;

  constructor(config: Config) {
    this.off = config.rateLimitPerMinute === 0;
  }

  /**
   * Counts the request, once, and says on the answer what is left.
   * @throws DomainError rate_limited
   */
  count(request: Request, response: Response): void {
    if (this.off || this.counted.has(request)) return;
    this.counted.add(request);
    const bucket = this.bucketOf(request);
    const exhausted = bucket.left < 1;
    if (!exhausted) bucket.left--;
    this.tell(bucket, response);
    if (exhausted)
      throw rateLimited.error({ headers: { 'Retry-After': String(Math.ceil((1 - bucket.left) / PER_MS / 1000)) } });
  }

  /** Counts what is sent beyond the request itself; says anew what is left. */
  charge(request: Request, response: Response, bytes: number): void {
    const more = Math.floor(bytes / BYTES_OF_ONE);
    if (this.off || more === 0) return;
    const bucket = this.bucketOf(request);
    // Documents that are asked for side by side do not make a debt of hours.
    bucket.left = Math.max(-QUOTA, bucket.left - more);
    this.tell(bucket, response);
  }

  /** Says on an answer without a caller what is left, and counts nothing. */
  show(request: Request, response: Response): void {
    if (!this.off) this.tell(this.bucketOf(request), response);
  }

  private tell({ left }: Bucket, response: Response): void {
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

  /** Drops full buckets, or all of them when there are more addresses at a time than it counts. */
  private forgetFull(now: number): void {
    for (const [key, { left, at }] of this.buckets) if (left + (now - at) * PER_MS >= QUOTA) this.buckets.delete(key);
    if (this.buckets.size >= MOST_BUCKETS) this.buckets.clear();
  }
}
