import type { ChangeReason } from '../../bookings/bookings.events.js';
import { NO_MATCHING_RECORD, type AttemptOutcome } from '../partner/attempt-outcome.js';
import type { FailureClass } from '../partner/partner-connection.js';
import type { PartnerAuth } from '../partner/partner-credentials.js';
import type { Inspection } from '../partner/partner-inspection.js';
import { STEPS, type SampleReport, type Step } from './sample-report.dto.js';

/**
 * The failure reasons of attempts whose connection was never opened. Such an attempt counts as failed at the step
 * ADDRESS, even if the inspection of the partner, which uses its own connection, was able to connect.
 */
const NOT_CONNECTED: readonly string[] = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'];

/** Returns the step at which the sending of a sample failed, from its outcome; null if the sample was delivered. */
function failedStep(
  { failure, httpStatus, reason }: Pick<AttemptOutcome, 'failure' | 'httpStatus' | 'reason'>,
  seen: Inspection,
): Step | null {
  if (failure === null) return null;
  if (httpStatus !== null) return failure === 'auth' ? 'SIGN_IN' : 'ANSWER';
  const steps: Partial<Record<FailureClass, Step>> = {
    dns: 'NAME',
    blocked: 'ADDRESS',
    tls: 'TLS',
    auth: 'SIGN_IN',
  };
  if (steps[failure]) return steps[failure];
  // A timeout or a closed connection does not show which step failed. The inspection of the partner then decides.
  if (seen.nameFault !== null) return 'NAME';
  if (seen.connectFault !== null || NOT_CONNECTED.includes(reason ?? '')) return 'ADDRESS';
  return seen.protocol === null ? 'TLS' : 'ANSWER';
}

export function reportOf(
  seen: Inspection,
  outcome: AttemptOutcome,
  auth: PartnerAuth['type'],
  change_reason: ChangeReason,
): SampleReport {
  const failed = failedStep(outcome, seen);
  const failedAt = failed === null ? STEPS.length : STEPS.indexOf(failed);
  const details = detailsOf(seen, outcome, auth);
  return {
    delivered: outcome.delivered,
    change_reason,
    steps: STEPS.map((step, index) => {
      if (index > failedAt)
        return {
          step,
          outcome: 'NOT_REACHED',
          detail: 'The sample notification failed before this step.',
          reason: null,
        };
      const isFailed = index === failedAt;
      return {
        step,
        outcome: isFailed ? 'FAILED' : 'OK',
        detail: details[step][isFailed ? 'failed' : 'ok'],
        reason: isFailed ? (outcome.reason ?? outcome.failure) : null,
      };
    }),
    addresses: seen.addresses,
    protocol: seen.protocol,
    certificates: seen.certificates,
    failure: outcome.failure,
    http_status: outcome.httpStatus,
    duration_ms: outcome.durationMs,
    excerpt: outcome.excerpt,
  };
}

const UNKNOWN_SAMPLE =
  'The partner answered 400, because it does not know the candidate SAMPLE-CANDIDATE. A sample requires a 200: the partner should ' +
  'answer 200 to booking codes that begin with SAMPLE, and 400 to events of candidates that it does not know.';

/** Returns an explanation of a failed verification if a remedy is known; undefined otherwise. */
export function verificationDetail({ reason }: Pick<AttemptOutcome, 'reason'>): string | undefined {
  return reason === NO_MATCHING_RECORD ? UNKNOWN_SAMPLE : undefined;
}

const SIGN_IN: Record<PartnerAuth['type'], string> = {
  none: 'The partner requires no sign-in.',
  headers: 'The request was sent with the headers of the subscription.',
  basic: 'The request was sent with a user name and a password.',
  bearer: 'The request was sent with the token of the subscription.',
  oauth2_client_credentials: 'The request was sent with a token of the partner’s token service.',
};

function detailsOf(
  seen: Inspection,
  { failure, httpStatus, durationMs, reason }: AttemptOutcome,
  auth: PartnerAuth['type'],
): Record<Step, { ok: string; failed: string }> {
  const [certificate] = seen.certificates;
  const ends = certificate?.not_after ? `, valid until ${certificate.not_after}` : '';
  const shown = certificate
    ? ` The certificate is ${certificate.subject}, issued by ${certificate.issuer}${ends}.`
    : '';
  const status = httpStatus === null ? 'no answer' : `${httpStatus}`;
  return {
    NAME: {
      ok: `${seen.host} is ${seen.addresses.join(', ') || 'known'}.`,
      failed: `The host name ${seen.host} has no address.`,
    },
    ADDRESS: {
      ok: `${seen.address ?? 'The address'} accepts connections.`,
      failed:
        reason === 'address_not_allowed'
          ? 'The address is in a network that is not allowed for partners.'
          : `${seen.address ?? 'The address'} does not accept connections.`,
    },
    TLS: {
      ok: `${seen.protocol ?? 'TLS'}, and the certificate is accepted.${shown}`.slice(0, 1000),
      failed: `The certificate is not accepted, or the handshake failed.${shown}`.slice(0, 1000),
    },
    SIGN_IN: {
      ok: SIGN_IN[auth],
      failed:
        httpStatus === null ? 'No access token could be obtained.' : `The partner refused the sign-in with ${status}.`,
    },
    ANSWER: {
      ok: `The partner answered 200 after ${durationMs} ms.`,
      failed:
        reason === NO_MATCHING_RECORD
          ? UNKNOWN_SAMPLE
          : failure === 'connect'
            ? `The partner was reached, and closed the connection after ${durationMs} ms without an answer.`
            : `The partner did not answer with 200 in time: ${status} after ${durationMs} ms.`,
    },
  };
}
