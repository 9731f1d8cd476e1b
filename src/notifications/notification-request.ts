import type { NotificationRequest } from '../bookings/bookings.events.js';
import { formatDateTime } from '../platform/clock.js';
import { uuidRule } from '../platform/validation/identifiers.js';
import { text, type Schema } from '../platform/validation/rules.js';
import { MOST_SIGNING, SIGNATURES } from './partner/signature.js';

/** Returns a complete NotificationRequest with invented codes, for the verification of a partner. */
export function sampleNotificationRequest(now: Date): NotificationRequest {
  return {
    booking_code: 'SAMPLE0001',
    booking_on: formatDateTime(new Date(now.getTime() + 7 * 86_400_000)),
    candidate_fname: 'Sample',
    candidate_id: 'SAMPLE-CANDIDATE',
    candidate_lname: 'Candidate',
    candidate_mname: 'Q',
    change_reason: 'BOOKING_CREATED',
    client_eligibility_id: 'SAMPLE-ELIGIBILITY',
    delivery_mode: 'SITE_PROCTORED',
    effective_date: formatDateTime(now),
    exam_code: 'SAMPLE-EXAM',
    exam_portions: [{ portion_code: 'SAMPLE', portion_name: 'Sample portion' }],
    location_address: '1 Sample Street, Springfield',
    location_code: 'SAMPLE-SITE',
    location_name: 'Sample test center',
    location_timezone: 'America/New_York',
  };
}

const digits = text({ max: 16, pattern: /^[0-9]+$/ }).schema;

const header = (name: string, description: string, schema: Schema, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
  example,
});

const HEADERS = [
  header(
    'webhook-id',
    'The id of the notification, which is the same on every attempt.',
    uuidRule.schema,
    '019ab2c4-7d1e-7b60-9f3a-5c2d8e4f6a1b',
  ),
  header('webhook-timestamp', 'The time of the attempt, in seconds since 1970.', digits, '1763640000'),
  header(
    'webhook-signature',
    'The signature (Standard Webhooks v1): HMAC-SHA256 of `{id}.{timestamp}.{body}`. A replaced secret also signs ' +
      `for 24 hours, so that there may be up to ${MOST_SIGNING} signatures, the newest first, separated by blanks.`,
    text(SIGNATURES).schema,
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];
const TRACE_AND_AGENT = [
  header(
    'traceparent',
    'W3C trace context.',
    text({ max: 55, pattern: /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/ }).schema,
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00',
  ),
  header(
    'User-Agent',
    'The name of the service.',
    text({ max: 100, pattern: /^[a-z0-9./-]+$/ }).schema,
    'candidate-eligibility-service',
  ),
];
const ANSWERS = {
  '200': {
    description:
      'The partner has received the notification. Only this status, within the time limit, counts as a delivery. The body is ' +
      'ignored.',
  },
  '400': {
    description: 'The partner does not know the candidate or the exam. The notification waits for an operator.',
  },
  '500': {
    description:
      'Components of the partner are down. The service retries automatically, and holds later notifications back.',
  },
  default: {
    description: 'Any other answer, or none: the notification waits for an operator. Redirects are not followed.',
  },
};

/** Returns the documentation of an HTTP request to a partner. */
function webhook(
  { operationId, summary, description }: { operationId: string; summary: string; description: string },
  sequence: string,
  body: { schema: string; example: object },
) {
  return {
    put: {
      operationId,
      tags: ['Notifications to partners'],
      summary,
      description,
      security: [],
      parameters: [...HEADERS, header('event-sequence', sequence, digits, '1'), ...TRACE_AND_AGENT],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${body.schema}` },
            example: body.example,
          },
        },
      },
      responses: ANSWERS,
    },
  };
}

/** The documentation of the HTTP requests to partners, under `webhooks` in the OpenAPI document. */
export const webhooks = {
  notification: webhook(
    {
      operationId: 'notification',
      summary: 'PUT {partner_url}/notifications: notify a partner of a change',
      description:
        'Sent over HTTPS with the authentication of the subscription, at least once, in order within a booking. A repeat has ' +
        'the same webhook-id and the same body.',
    },
    'The number of the event within its booking: 1, 2, 3 … It counts all events, even those that the ' +
      'subscription does not select.',
    { schema: 'NotificationRequest', example: sampleNotificationRequest(new Date('2025-11-20T12:00:00Z')) },
  ),
  change: webhook(
    {
      operationId: 'change',
      summary: 'PUT {partner_url}/changes: send a change of a record to a partner',
      description:
        'Sent for the changes in `record_changes` of the subscription, as notifications of bookings are sent, in order ' +
        'within a record. The body is the entry of the change feed.',
    },
    'The number of the change within its record. It counts all changes since the account has a subscription with ' +
      '`record_changes`.',
    {
      schema: 'ChangeModel',
      example: {
        id: 'v3n0XW2m9sFqk1b7c5d4e3f2a1b0',
        kind: 'ELIGIBILITY',
        change: 'HELD',
        at: '2025-11-20T12:00:00Z',
        svc_eligiblity_id: 'K7MWQ2XA',
        candidate_id: 'C-1001',
        test_code: 'EXAM-ONE',
        booking_code: null,
        status: 'PENDING',
        revision: null,
        notification: null,
        event_sequence: null,
      },
    },
  ),
};
