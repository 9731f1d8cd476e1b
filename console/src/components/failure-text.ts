import type { Schemas } from '../api/client';

type Failure = Schemas['NotificationModel']['failure'];

/** The texts that describe the classes of failures of requests to partners. */
export const FAILURES: Record<NonNullable<Failure>, string> = {
  dns: 'Host name not found',
  connect: 'No connection',
  tls: 'TLS error',
  timeout: 'No answer in time',
  auth: 'Not authorized',
  redirect: 'Redirect',
  client_error: 'Refused',
  server_error: 'Error at the partner',
  protocol: 'Unexpected answer',
  blocked: 'Address not allowed',
};

/**
 * Describes in words why the delivery of a notification failed. Null means that no attempt was made, because the
 * partner was DOWN.
 */
export function failureText(failure: Failure): string {
  return failure == null ? 'Not tried yet' : FAILURES[failure];
}

const REASONS: Record<string, string> = {
  NO_MATCHING_RECORD: 'The partner does not know this candidate or exam',
  GIVEN_UP: 'Automatic retries have stopped, because the partner was down or busy for too long',
  ONLY_THIS_EVENT: 'The partner returns status 500 for this event only',
};

/** Returns the description of a failure's reason; for an unknown reason, returns its code. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason;
}
