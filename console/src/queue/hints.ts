import type { Schemas } from '../api/client';

type Cause = Pick<Schemas['CauseModel'], 'failure' | 'reason' | 'http_status' | 'retry'>;

export interface Hint {
  text: string;
  /** The page on which the remedy is applied. */
  place: 'partner' | 'settings' | 'notifications';
}

const OF_REASON: Record<string, Hint> = {
  CERT_HAS_EXPIRED: {
    text: 'The certificate of the partner has expired: they renew it, then verify and resend.',
    place: 'partner',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    text: 'The certificate signs itself: enter it as the authority of this partner.',
    place: 'settings',
  },
  SELF_SIGNED_CERT_IN_CHAIN: {
    text: 'An authority of the partner’s own signs its certificate: enter that authority.',
    place: 'settings',
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    text: 'The partner does not send its whole chain: they add it, or enter the authority.',
    place: 'settings',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    text: 'The certificate is for another name: correct the address, or they renew it.',
    place: 'settings',
  },
  ECONNREFUSED: { text: 'Nothing listens at the address: ask the partner, or correct the port.', place: 'settings' },
};

/** Returns the remedy of a failure's cause in one sentence. */
export function hintFor({ failure, reason, http_status: status, retry }: Cause): Hint {
  if (failure == null)
    return { text: 'The partner was down: these go out by themselves when it is back.', place: 'partner' };
  if (failure === 'server_error' && retry === 'AUTO')
    return { text: 'The partner is down: it is tried again by itself.', place: 'partner' };
  const known = reason == null ? undefined : OF_REASON[reason];
  if (known !== undefined) return known;
  switch (failure) {
    case 'dns':
      return { text: 'The name of the partner is not found: correct the address, or ask them.', place: 'settings' };
    case 'connect':
      return { text: 'No connection: ask the partner whether they are up and let us in.', place: 'partner' };
    case 'tls':
      return { text: 'No trusted connection: verify the partner to see its certificates.', place: 'partner' };
    case 'timeout':
      return { text: 'The answer takes too long: ask the partner, or wait longer for them.', place: 'settings' };
    case 'auth':
      return { text: 'The partner refuses our sign-in: enter new credentials, then resend.', place: 'settings' };
    case 'redirect':
      return { text: 'The address leads elsewhere: enter the one where it ends.', place: 'settings' };
    case 'blocked':
      return { text: 'The address is not one that partners may have: correct it.', place: 'settings' };
    case 'client_error':
      return status === 404
        ? { text: 'Nothing is at the address: correct it, verify, resend.', place: 'settings' }
        : {
            text: 'The partner refuses these events: read what it says, then resend or resolve.',
            place: 'notifications',
          };
    case 'server_error':
      return { text: 'The partner failed for too long: ask them, then resend.', place: 'partner' };
    case 'protocol':
      return { text: 'The partner answers otherwise than with 200: tell them what it says.', place: 'notifications' };
  }
}
