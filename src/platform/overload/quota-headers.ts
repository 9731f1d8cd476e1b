import type { ServerResponse } from 'node:http';

interface Quota {
  readonly name: string;
  /** The number of requests that are allowed in each window of `windowS` seconds. */
  readonly quota: number;
  readonly windowS: number;
  readonly left: number;
  /** The seconds until the quota is full again. */
  readonly seconds: number;
}

/** Sets the response headers that show a quota (draft-ietf-httpapi-ratelimit-headers). */
export function showQuota(response: ServerResponse, { name, quota, windowS, left, seconds }: Quota): void {
  response.setHeader('RateLimit-Policy', `"${name}";q=${quota};w=${windowS}`);
  response.setHeader('RateLimit', `"${name}";r=${Math.max(left, 0)};t=${seconds}`);
}
