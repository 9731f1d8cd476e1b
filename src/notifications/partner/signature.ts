import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

const PREFIX = 'whsec_';
const KEY_BYTES = 32;

/** Returns a new signing secret in the form for partners: `whsec_` and 32 bytes in base64. */
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
