import { createHmac, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
const TOLERANCE_S = 300;

/** Headers as Node gives them: names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The request does not come from the service, or not now. `code` is one of four words for logs and answers. */
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
  /** How far the timestamp may be off, in seconds; 300 by default. */
  toleranceS?: number;
  /** Milliseconds since 1970. */
  now?: number;
}

/**
 * Standard Webhooks v1: HMAC-SHA256 of `{id}.{timestamp}.{body}`, over the bytes that came.
 * @param secrets as shown: `whsec_…`; while a secret is being changed, the old and the new one
 * @throws InvalidSignature unless one of the signatures is by one of the secrets
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
    // Each is compared, so that the time taken tells nothing.
    .flatMap((expected) => given.map((signature) => isEqual(signature, expected)));
  if (!genuine.includes(true)) throw new InvalidSignature('signature_wrong', 'No signature is right.');
}

/** `webhook-signature` as the service makes it, for tests of your own: one signature for each secret. */
export function sign(secrets: string | readonly string[], id: string, timestampS: number, body: Uint8Array): string {
  return (typeof secrets === 'string' ? [secrets] : secrets)
    .map((secret) => `v1,${digest(secret, id, String(timestampS), body).toString('base64')}`)
    .join(' ');
}

/** @throws TypeError when it is not a signing secret as the service shows it */
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

/** A header of the request that must be there, once. */
export function headerOf(headers: Headers, name: string): string {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') throw new InvalidSignature('header_missing', `${name} is missing.`);
  return value;
}
