import { createHmac, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
const TOLERANCE_S = 300;

/** The headers of a request as Node.js provides them, with names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Thrown for a request that is not from the service or is too old. `code` states the reason as one of four words, for
 * your log.
 */
export class InvalidSignature extends Error {
  override readonly name = 'InvalidSignature';

  constructor(
    readonly code: 'header_missing' | 'timestamp_invalid' | 'timestamp_too_far' | 'signature_wrong',
    message: string,
  ) {
    super(message);
  }
}

export interface VerifyOptions {
  /** The maximum difference between the timestamp of a request and the current time, in seconds; 300 by default. */
  toleranceS?: number;
  /** The time, in milliseconds since 1970, with which the timestamp is compared; the current time by default. */
  now?: number;
}

/**
 * Verifies a signature of Standard Webhooks v1. The signature is the HMAC-SHA256 of `{id}.{timestamp}.{body}`, where
 * the body consists of the received bytes.
 * @param secrets in the form that the service shows, `whsec_…`; during a change of secrets, the old and the new one
 * @throws InvalidSignature unless one of the signatures matches one of the secrets
 */
export function verifySignature(
  headers: Headers,
  body: Uint8Array,
  secrets: string | readonly string[],
  { toleranceS = TOLERANCE_S, now = Date.now() }: VerifyOptions = {},
): void {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const given = headerOf(headers, 'webhook-signature').split(' ');
  if (!/^[0-9]{1,12}$/.test(timestamp))
    throw new InvalidSignature('timestamp_invalid', 'webhook-timestamp is not a number of seconds.');
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceS)
    throw new InvalidSignature('timestamp_too_far', `webhook-timestamp is more than ${toleranceS} seconds off.`);
  const genuine = (typeof secrets === 'string' ? [secrets] : secrets)
    .map((secret) => digest(secret, id, timestamp, body))
    // Every signature is compared with the expected signature for every secret, so that the duration of the check does
    // not reveal a match.
    .flatMap((expected) => given.map((signature) => isEqual(signature, expected)));
  if (!genuine.includes(true)) throw new InvalidSignature('signature_wrong', 'No signature is right.');
}

/**
 * Builds a `webhook-signature` header for your own tests. As in the service's requests, it has one signature for each
 * secret.
 */
export function sign(secrets: string | readonly string[], id: string, timestampS: number, body: Uint8Array): string {
  return (typeof secrets === 'string' ? [secrets] : secrets)
    .map((secret) => `v1,${digest(secret, id, String(timestampS), body).toString('base64')}`)
    .join(' ');
}

/**
 * Returns the signing key that a secret contains.
 * @throws TypeError when the secret does not have the form that the service shows
 */
export function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  if (!secret.startsWith(PREFIX) || key.length < 24) throw new TypeError('Not a signing secret: whsec_ and base64.');
  return key;
}

function digest(secret: string, id: string, timestamp: string, body: Uint8Array): Buffer {
  return createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest();
}

function isEqual(signature: string, expected: Buffer): boolean {
  if (!signature.startsWith('v1,')) return false;
  const given = Buffer.from(signature.slice('v1,'.length), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Returns the value of a required header, which must occur exactly once. */
export function headerOf(headers: Headers, name: string): string {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') throw new InvalidSignature('header_missing', `${name} is missing.`);
  return value;
}
