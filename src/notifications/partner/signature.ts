import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

const PREFIX = 'whsec_';
const KEY_BYTES = 32;

/** The maximum number of signing secrets in use at the same time, including the newest. */
export const MOST_SIGNING = 5;

/** The number of characters of one signature: the version, and the 32 bytes of HMAC-SHA256 in base64. */
const SIGNATURE_LENGTH = 'v1,'.length + 44;
const SIGNATURE = 'v1,[A-Za-z0-9+/=]{44}';
/** The form of the `webhook-signature` header: the signatures, separated by blanks. */
export const SIGNATURES = {
  pattern: new RegExp(`^${SIGNATURE}( ${SIGNATURE}){0,${MOST_SIGNING - 1}}$`),
  max: MOST_SIGNING * (SIGNATURE_LENGTH + 1) - 1,
};

/** Returns a new signing secret in the form that partners receive: `whsec_` and 32 bytes in base64. */
export function newSigningSecret(): string {
  return PREFIX + randomBytes(KEY_BYTES).toString('base64');
}

export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64'));
}

/** Returns the `webhook-signature` header of Standard Webhooks v1: one signature for each key, newest first. */
export function webhookSignature(keys: readonly KeyObject[], id: string, timestamp: number, body: string): string {
  const signed = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ');
}
