import type { ServerResponse } from 'node:http';

interface Quota {
  readonly name: string;
  /** Requests in each window of so many seconds. */
  readonly quota: number;
  readonly windowS: number;
  readonly left: number;
  /** Until the quota is whole again. */
  readonly seconds: number;
}

/** Says on the answer what is left of a quota (draft-ietf-httpapi-ratelimit-headers). */
export function showQuota(response: ServerResponse, { name, quota, windowS, left, seconds }: Quota): void {
  response.setHeader('RateLimit-Policy', `"${name}";q=${quota};w=${windowS}`);
  response.setHeader('RateLimit', `"${name}";r=${Math.max(left, 0)};t=${seconds}`);
}
