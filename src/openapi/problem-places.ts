import type { OpenAPIObject } from '@nestjs/swagger';
import { problemCatalogue, type Problem } from '../platform/errors.js';
import { statusOf } from '../platform/http/problem.filter.js';

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, unknown> };
  security?: Record<string, string[]>[];
  responses: Record<string, { content?: Record<string, { examples?: Record<string, object> }> }>;
}

/** An operation, with the properties that decide which problems its error responses can report. */
class Place {
  constructor(
    readonly name: string,
    readonly operation: Operation,
  ) {}

  get path(): string {
    return this.name.split(' ')[1];
  }

  takes(parameter: string): boolean {
    return (this.operation.parameters ?? []).some(({ name }) => name === parameter);
  }

  takesBody(type: string): boolean {
    return Object.keys(this.operation.requestBody?.content ?? {}).includes(type);
  }

  get scopes(): string[] {
    return (this.operation.security ?? []).flatMap(({ oauth2 = [] }) => oauth2);
  }

  get isProtected(): boolean {
    return this.scopes.length > 0;
  }
}

type Where = (place: Place) => boolean;
const OF_TEST = '/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}';
const BOOKING = '/accounts/{account_code}/bookings/{booking_code}';
const REGISTRATION = 'POST /registrations/registration/results';
const BY_ACCOUNT = 'PUT /accounts/{account_code}';
const ACCEPT = 'POST /admin/unmatched-results/{id}/accept';
const RESULT_ROUTES = [REGISTRATION, BY_ACCOUNT];

const at =
  (...names: string[]): Where =>
  ({ name }) =>
    names.includes(name);
const under =
  (pattern: RegExp): Where =>
  ({ name }) =>
    pattern.test(name);
const either =
  (...all: Where[]): Where =>
  (place) =>
    all.some((where) => where(place));
const everywhere: Where = () => true;
const ofCandidate = under(/^(GET .*|POST .*\/erase)$/);
const namesAccount: Where = (place) =>
  place.takes('account_code') ||
  under(/^POST \/admin\/(error-queue\/(resend|resolve)|notifications\/replay)$/)(place) ||
  at(
    'POST /admin/subscriptions',
    'POST /admin/users',
    'PUT /admin/users/{username}',
    'PUT /admin/alerts/{name}',
  )(place);
const decidesOnResult = under(/\/result\/(hold|release|revoke)$/);
const decides = under(/ \/admin\/eligibilities\/\{svc_id\}(\/(hold|release|approve|decline)[a-z-]*)?$/);

/**
 * For each problem, a condition for the operations that can report it. The documentation of an operation lists the
 * problem if the condition holds and the operation documents the problem's status. One test requires an entry for every
 * code. Another test compares the responses in all tests with this table.
 */
const PLACES: Record<string, Where> = {
  validation_error: everywhere,
  malformed_request: everywhere,
  malformed_json: (place) => place.takesBody('application/json'),
  account_not_found: namesAccount,
  unauthorized: (place) => place.isProtected,
  insufficient_scope: (place) => place.isProtected,
  account_forbidden: (place) => place.isProtected && namesAccount(place),
  method_not_allowed: everywhere,
  headers_too_large: everywhere,
  payload_too_large: everywhere,
  unsupported_media_type: everywhere,
  request_timeout: everywhere,
  rate_limited: everywhere,
  internal_error: everywhere,
  service_unavailable: everywhere,
  idempotency_key_in_use: (place) => place.takes('Idempotency-Key'),
  idempotency_key_reused: (place) => place.takes('Idempotency-Key'),
  not_found: (place) =>
    !/^\S+ \/accounts\/\{account_code\}\/(candidates|bookings|eligibilities)/.test(place.name) &&
    !/ \/admin\/(accounts\/\{account_code\}\/candidates|unmatched-results)/.test(place.name) &&
    !((decides(place) || decidesOnResult(place)) && place.path.startsWith('/admin')),
  not_the_console: under(/ \/console\//),
  sign_in_refused: under(/ \/console\/(session|sign-in\/callback)$/),

  invalid_status_filter: (place) => place.takes('status') && place.path.startsWith('/accounts/'),
  cursor_expired: under(/^GET \/accounts\/\{account_code\}\/changes$/),
  duplicate_eligibility: at('POST /accounts/{account_code}/candidates'),
  client_eligibility_id_in_use: at('POST /accounts/{account_code}/candidates', `PUT ${OF_TEST}`),
  candidate_not_found: (place) => place.takes('candidate_id') && ofCandidate(place),
  eligibility_not_found: either(
    under(/ \/accounts\/\{account_code\}\/candidates\/\{candidate_id\}\/tests\/\{test_code\}/),
    at('GET /accounts/{account_code}/eligibilities/{svc_id}', ACCEPT),
    decides,
    decidesOnResult,
    under(/^GET \/(eligibilities\/|admin\/unmatched-results\/\{id\}\/exam)/),
  ),
  eligibility_closed: at(`PUT ${OF_TEST}`, `DELETE ${OF_TEST}`, `PUT ${OF_TEST}/vouchers`),
  eligibility_booked: at(`DELETE ${OF_TEST}`, `PUT ${OF_TEST}/vouchers`),
  forbidden_operation: either(
    at(`PUT ${OF_TEST}`, `POST ${BOOKING}/absence`, 'PUT /admin/accounts/{account_code}/tests/{test_code}', ACCEPT),
    (place) => decides(place) && place.name.startsWith('POST'),
    under(/^DELETE \/admin\/accounts\/\{account_code\}\/[a-z-]+\/\{\w+\}$/),
  ),
  not_eligible_to_schedule: at(`POST ${OF_TEST}/bookings`, `PUT ${BOOKING}`),
  retake_not_allowed: at('POST /accounts/{account_code}/candidates', `POST ${OF_TEST}/bookings`, `PUT ${BOOKING}`),
  booking_overlaps: at(`POST ${OF_TEST}/bookings`, `PUT ${BOOKING}`),
  change_cutoff_passed: at(`PUT ${BOOKING}`, `DELETE ${BOOKING}`),
  booking_closed: at(`PUT ${BOOKING}`, `DELETE ${BOOKING}`, `POST ${BOOKING}/absence`),
  booking_not_found: either(
    (place) => place.path.startsWith(BOOKING),
    at(ACCEPT, 'POST /sandbox/events', 'GET /admin/unmatched-results/{id}/exam'),
  ),
  candidate_has_open_booking: under(/\/erase$/),
  launch_not_available: under(/^GET \/(eligibilities\/.*testLaunchInfo|launch\/)/),
  launch_gone: under(/^GET \/launch\//),

  registration_mismatch: at(REGISTRATION),
  registration_ambiguous: at(REGISTRATION),
  registration_not_found: at(REGISTRATION),
  result_id_conflict: at(BY_ACCOUNT),
  candidate_exam_not_found: at(BY_ACCOUNT),
  candidate_exam_ambiguous: at(BY_ACCOUNT),
  result_quota_exceeded: at(...RESULT_ROUTES),
  result_not_found: decidesOnResult,
  unmatched_result_not_found: under(/ \/admin\/unmatched-results\/\{id\}/),
  unmatched_result_accepted: under(/^POST \/admin\/unmatched-results\/\{id\}/),
  unmatched_result_settled: under(/^POST \/admin\/unmatched-results\/\{id\}/),

  malformed_csv: under(/^POST \/accounts\/\{account_code\}\/eligibility-imports$/),
  malformed_ndjson: under(/^POST \/accounts\/\{account_code\}\/eligibility-imports$/),
  import_ended: under(/imports\/\{import_id\}\/abort$/),
  job_finished: under(/\{(resend|job)_id\}\/(pause|resume|abort)$/),
  not_in_error_queue: under(/\{(notification_)?id\}\/(resend|resolve)$/),
  subscription_suspended: under(/\{(notification_)?id\}\/resend$|subscriptions\/\{id\}\/(suspend|resume)$/),
  subscription_unverified: under(/\{(notification_)?id\}\/resend$|subscriptions\/\{id\}\/(suspend|resume)$/),
  suspended_by_operator: at('POST /partner/subscriptions/{id}/resume'),
  auth_required: at('PATCH /admin/subscriptions/{id}'),
  subscription_polled: at('POST /admin/subscriptions/{id}/sample'),
  verification_failed: under(/subscriptions\/\{id\}\/verify$/),
  mail_not_configured: at('PUT /admin/alerts/{name}', 'POST /admin/alerts/{name}/test'),
  alert_not_delivered: at('POST /admin/alerts/{name}/test'),
  event_not_possible: at('POST /sandbox/events'),

  username_taken: at('POST /admin/users'),
  last_operator: either(under(/^(POST|PUT) \/admin\/users/), under(/\/console\/sign-in\/callback$/)),
  console_application: under(/^PUT \/admin\/applications\//),
};

/** Example values of the additional members of error responses. */
const MEMBERS: Record<string, unknown> = {
  svc_eligiblity_id: 'K7MWQ2XA',
  booking_code: 'B7K2M9QX4T',
  unmatched_result_id: '0196f2a4-7c1e-7d3b-9a55-3f0c2b8d6e41',
  failure: 'client_error',
  reason: 'NO_MATCHING_RECORD',
  http_status: 400,
  excerpt: 'No such candidate.',
  available_from: '2098-06-15T13:30:00Z',
  allowed_from: '2098-07-15T14:00:00Z',
};

const FAULT = { pointer: '/candidate/country', code: 'country_invalid', detail: 'Must be a two-letter country code.' };

function exampleOf({ code, title, description, members }: Problem, status: number, base: string): object {
  return {
    summary: title,
    value: {
      type: `${base}/problems/${code}`,
      title,
      status,
      detail: description,
      instance: '/accounts/K7MWQ2XA9PDR/candidates',
      code,
      request_id: 'order-4711',
      ...(code === 'validation_error' ? { errors: [FAULT] } : {}),
      ...Object.fromEntries(members.map((member) => [member, MEMBERS[member] ?? null])),
    },
  };
}

/** The error codes of RFC 6749 §5.2, with their HTTP statuses. */
const OAUTH: Record<string, { status: number; description: string; at?: RegExp }> = {
  invalid_request: { status: 400, description: 'A parameter is missing, repeated or malformed.' },
  invalid_grant: { status: 400, description: 'The credentials or the refresh token are not valid.', at: /\/token$/ },
  unauthorized_client: { status: 400, description: 'The application may not use this grant.', at: /\/token$/ },
  unsupported_grant_type: { status: 400, description: 'The grant is not known.', at: /\/token$/ },
  invalid_scope: { status: 400, description: 'A scope is not known.', at: /\/token$/ },
  invalid_client: { status: 401, description: 'Authenticate with the consumer key and secret by HTTP Basic.' },
  temporarily_unavailable: { status: 429, description: 'Too many requests; try again after Retry-After.' },
};

/**
 * Adds the possible codes, with an example for each, to the documentation of each error response. The examples are
 * shared components of the OpenAPI document.
 */
export function addProblems(document: OpenAPIObject, base: string): void {
  const examples: Record<string, object> = {};
  const referTo = (name: string, example: object) => {
    examples[name] = example;
    return { $ref: `#/components/examples/${name}` };
  };
  const catalogue = problemCatalogue();
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item) as [string, Operation][]) {
      const place = new Place(`${method.toUpperCase()} ${path}`, operation);
      for (const [key, { content = {} }] of Object.entries(operation.responses)) {
        const status = Number(key);
        const problems = content['application/problem+json'];
        if (problems) {
          const possible = catalogue.filter(
            (problem) => statusAt(place, problem) === status && PLACES[problem.code]?.(place) === true,
          );
          problems.examples = Object.fromEntries(
            possible.map((problem) => {
              const isUsual = statusOf(problem.kind) === status;
              const name = isUsual ? problem.code : `${problem.code}_${key}`;
              return [problem.code, referTo(name, exampleOf(problem, status, base))];
            }),
          );
        }
        const isOAuth = place.operation.security?.some((scheme) => 'client' in scheme) === true && status >= 400;
        if (isOAuth && content['application/json'])
          content['application/json'].examples = Object.fromEntries(
            Object.entries(oauthErrors(status, path)).map(([error, error_description]) => [
              error,
              referTo(`oauth_${error}_${key}`, { summary: error, value: { error, error_description } }),
            ]),
          );
      }
    }
  document.components!.examples = examples;
}

/**
 * Returns the HTTP status with which an operation reports a problem. Test drivers get 500 instead of 408 and 503, which
 * they do not support.
 */
function statusAt({ name }: Place, { kind }: Problem): number {
  const status = statusOf(kind);
  return RESULT_ROUTES.includes(name) && (status === 408 || status === 503) ? 500 : status;
}

function oauthErrors(status: number, path: string): Record<string, string> {
  const known = Object.entries(OAUTH).filter(([, error]) => error.status === status && (error.at?.test(path) ?? true));
  if (known.length > 0) return Object.fromEntries(known.map(([error, { description }]) => [error, description]));
  if (status === 500) return { server_error: 'An internal error occurred.' };
  return status === 503
    ? { temporarily_unavailable: 'A component is down or overloaded; try again after Retry-After.' }
    : { invalid_request: 'The request cannot be read.' };
}
