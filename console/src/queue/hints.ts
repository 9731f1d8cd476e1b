import type { Schemas } from '../api/client';

type Cause = Pick<Schemas['CauseModel'], 'failure' | 'reason' | 'http_status' | 'retry'>;

export interface Hint {
  text: string;
  /** The page of the console on which the operator can apply the remedy. */
  place: 'partner' | 'settings' | 'notifications';
}

const OF_REASON: Record<string, Hint> = {
  CERT_HAS_EXPIRED: {
    text: 'The certificate of the partner has expired. Ask the partner to renew it. Then verify the partner and resend the notifications.',
    place: 'partner',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    text: 'The partner uses a self-signed certificate. Enter this certificate as the certificate authority of the partner.',
    place: 'settings',
  },
  SELF_SIGNED_CERT_IN_CHAIN: {
    text: 'The certificate was issued by the partner’s own certificate authority. Enter the certificate of that authority in the settings of the partner.',
    place: 'settings',
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    text: 'The partner does not send its complete certificate chain. Ask the partner to send the complete chain, or enter the certificate authority in the settings.',
    place: 'settings',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    text: 'The certificate was issued for another host name. Correct the address, or ask the partner for a certificate with the right name.',
    place: 'settings',
  },
  ECONNREFUSED: {
    text: 'No server accepts connections at this address. Correct the port, or ask the partner to start the server. Then resend the notifications.',
    place: 'settings',
  },
};

/** Returns one sentence about the remedy for a cause of failure, and the page for the remedy. */
export function hintFor({ failure, reason, http_status: status, retry }: Cause): Hint {
  if (failure == null)
    return {
      text: 'The partner was down. These notifications will be sent automatically when the partner is up again.',
      place: 'partner',
    };
  if (failure === 'server_error' && retry === 'AUTO')
    return { text: 'The partner is down. The service retries automatically.', place: 'partner' };
  const known = reason == null ? undefined : OF_REASON[reason];
  if (known !== undefined) return known;
  switch (failure) {
    case 'dns':
      return {
        text: 'The host name of the partner does not exist. Correct the address, or ask the partner for the right host name.',
        place: 'settings',
      };
    case 'connect':
      return {
        text: 'The service cannot connect to the partner. Ask the partner whether the server is running and whether a firewall blocks the connection. Then resend the notifications.',
        place: 'partner',
      };
    case 'tls':
      return {
        text: 'The connection to the partner is not trusted. Verify the partner to see its certificates.',
        place: 'partner',
      };
    case 'timeout':
      return {
        text: 'The partner takes too long to answer. Ask the partner for the reason, or increase the answer timeout. Then resend the notifications.',
        place: 'settings',
      };
    case 'auth':
      return {
        text: 'The partner refuses the service’s credentials. Enter new credentials, then resend the notifications.',
        place: 'settings',
      };
    case 'redirect':
      return {
        text: 'The address redirects to another address. Enter the final address in the settings of the partner.',
        place: 'settings',
      };
    case 'blocked':
      return {
        text: 'The service is not allowed to send to this address. Enter another address for the partner.',
        place: 'settings',
      };
    case 'client_error':
      return status === 404
        ? {
            text: 'The partner answers that nothing exists at this address. Correct the address, verify the partner, then resend the notifications.',
            place: 'settings',
          }
        : {
            text: 'The partner refuses these events. Read the answer of the partner, then resend or resolve the notifications.',
            place: 'notifications',
          };
    case 'server_error':
      return {
        text: 'The partner has failed for too long, and automatic retries have stopped. Ask the partner to correct the error, then resend the notifications.',
        place: 'partner',
      };
    case 'protocol':
      return {
        text: 'The partner’s answer is not a valid response with status 200. Send the answer to the partner, and ask for a correction.',
        place: 'notifications',
      };
  }
}
