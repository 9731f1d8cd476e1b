import { createHash } from 'node:crypto';
import type { KeptNotification } from './notification-store.js';

/** A time step in the response to `GET /partner/digest`. */
export interface DigestStep {
  from: string;
  to: string;
  count: number;
  /** The XOR of the digests of the notifications, in hexadecimal digits. */
  digest: string;
}

/** Returns the contribution of one notification to the digest of its time step, in hexadecimal digits. */
export function digestOf(id: string, sequence: number, body: Uint8Array): string {
  return createHash('sha256').update(`${id}\n${sequence}\n`).update(body).digest('hex');
}

/**
 * Computes the digest of each time step from the notifications that a partner has stored. The service computes its
 * digests in the same way from the notifications that it delivered.
 */
export function stepsOf(kept: readonly KeptNotification[], fromS: number, toS: number, stepS: number): DigestStep[] {
  const sums = Array.from({ length: Math.ceil((toS - fromS) / stepS) }, () => ({ count: 0, sum: 0n }));
  for (const { atS, digest } of kept) {
    const step = sums[Math.floor((atS - fromS) / stepS)];
    step.count += 1;
    step.sum ^= BigInt(`0x${digest}`);
  }
  return sums.map(({ count, sum }, index) => ({
    from: dateTime(fromS + index * stepS),
    to: dateTime(Math.min(fromS + (index + 1) * stepS, toS)),
    count,
    digest: sum.toString(16).padStart(64, '0'),
  }));
}

export function dateTime(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}
