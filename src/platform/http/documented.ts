import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { MOST_LISTED } from '../validation/faults.js';
import { Field } from '../validation/fields.js';
import { integer, listOf, text, type Rule } from '../validation/rules.js';
import { MOST } from './paging.js';

const anyText: Rule = text({ max: 10_000, lines: true });

/** The schema of an HTML page of the service. */
export const PAGE = { type: 'string', maxLength: 1_000_000, pattern: '^<!doctype html>' } as const;
/**
 * The maximum length of a JSON Pointer. It is long enough for a pointer into the largest possible body, even if each
 * character of a name must be escaped.
 */
const MOST_OF_POINTER = 16 * 1024 * 1024;
/** The schema of a JSON Pointer. A pointer repeats names from the request's body exactly as they were sent. */
export const POINTER = { type: 'string', format: 'json-pointer', maxLength: MOST_OF_POINTER } as const;
/**
 * The maximum size, in bytes, of a request's head (`--max-http-header-size`). A head contains the names of query
 * parameters.
 */
const MOST_OF_HEAD = 16 * 1024;

/** An error in a request, as an error response lists it. */
class ErrorModelFault {
  @Field(
    { schema: POINTER, faults: () => [] },
    {
      description: 'JSON Pointer (RFC 6901) of the member in the body. An empty text means the whole body.',
    },
  )
  pointer?: string;

  @Field(
    { schema: { type: 'string', maxLength: MOST_OF_HEAD }, faults: () => [] },
    { description: 'Name of the query, path or header parameter, as it was sent.' },
  )
  parameter?: string;

  @Field(anyText, { required: true, example: 'country_invalid' })
  code: string;

  @Field(anyText, { required: true })
  detail: string;
}

/** The body of an error response: a problem document (RFC 9457). */
class ErrorModel {
  @Field(anyText, { required: true, description: 'Address of the entry in the error catalogue.' })
  type: string;

  @Field(anyText, { required: true })
  title: string;

  @Field(integer(400, 599), { required: true })
  status: number;

  @Field(anyText, { required: true })
  detail: string;

  @Field(anyText, { required: true })
  instance: string;

  @Field(anyText, { required: true, example: 'validation_error' })
  code: string;

  @Field(anyText, { required: true })
  request_id: string;

  @Field(listOf({ schema: { $ref: '#/components/schemas/ErrorModelFault' }, faults: () => [] }, MOST_LISTED))
  errors?: ErrorModelFault[];

  @Field(anyText, { description: 'With duplicate_eligibility: the id of the existing record.' })
  svc_eligiblity_id?: string | null;

  @Field(anyText, { description: 'With not_eligible_to_schedule: the open booking of the eligibility.' })
  booking_code?: string | null;

  @Field(anyText, { description: 'With a refused result: the id of the unmatched result that contains its body.' })
  unmatched_result_id?: string | null;

  @Field(anyText, {
    description: 'With launch_not_available: the time from which the exam can be launched, if the test limits it.',
  })
  available_from?: string | null;

  @Field(anyText, {
    description:
      'With retake_not_allowed: the earliest time of another attempt, or null if the candidate has none left.',
  })
  allowed_from?: string | null;

  @Field(anyText, { description: 'With verification_failed and alert_not_delivered: the class of the failure.' })
  failure?: string | null;

  @Field(anyText, { description: 'With verification_failed and alert_not_delivered: the short code of the cause.' })
  reason?: string | null;

  @Field(integer(100, 999), {
    description: 'With verification_failed and alert_not_delivered: the HTTP status of the answer.',
  })
  http_status?: number | null;

  @Field(anyText, { description: 'With verification_failed: the beginning of the partner’s answer.' })
  excerpt?: string | null;
}

const MEANING: Record<number, string> = {
  400: 'The request is not valid. `errors` lists every error.',
  401: 'No valid access token.',
  403: 'The caller has no right to do this, or the state of the record does not allow it.',
  404: 'Not found.',
  405: 'The resource does not support this method.',
  408: 'The body did not arrive in time.',
  409: 'The state of the record does not allow the request, or an earlier request is still in progress.',
  410: 'The URL was already used, or has expired.',
  413: 'The body is too large.',
  415: 'The content type is not application/json.',
  422: 'The idempotency key belongs to another request.',
  429: 'Too many requests.',
  500: 'Internal error.',
  503: 'The service, or a part of it, is down.',
};

/** Documents the error responses of a route that needs a token. Their statuses are the given statuses, 401 and 403. */
export const Problems = (...statuses: number[]) => PublicProblems(...statuses, 401, 403);

/** Documents the error responses of a public route. */
export const PublicProblems = (...statuses: number[]) => problemAnswers(statuses, {});

/** Documents the error responses of a route that people open in a browser. These responses are HTML pages. */
export const PageProblems = (...statuses: number[]) => problemAnswers(statuses, { 'text/html': { schema: PAGE } });

/**
 * Documents the error responses of a route for test drivers. A test driver retries after a 500, but does not handle the
 * statuses 408 and 503.
 */
export const DriverProblems = () => problemAnswers([400, 401, 403, 413, 415], {}, [429, 500]);

function problemAnswers(
  statuses: readonly number[],
  others: Record<string, { schema: { readonly type: 'string' } }>,
  always: readonly number[] = [429, 500, 503],
) {
  return applyDecorators(
    ApiExtraModels(ErrorModel, ErrorModelFault),
    ...[...new Set([...statuses, ...always])].map((status) =>
      ApiResponse({
        status,
        description: MEANING[status] ?? 'Refused.',
        content: { 'application/problem+json': { schema: { $ref: getSchemaPath(ErrorModel) } }, ...others },
      }),
    ),
  );
}

/** Documents the error responses of a route with a JSON body. */
export const BodyProblems = (...statuses: number[]) => Problems(400, 408, 413, 415, ...statuses);

/** Documents the `Idempotency-Key` header of a route, and the responses that result from it. */
export const IdempotencyHeader = () =>
  applyDecorators(
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
      description:
        '1 to 255 printable ASCII characters. A second request with the same key within 24 hours gets the first ' +
        'response again.',
    }),
    Problems(409, 422),
  );

/**
 * Documents a response with a body, and sets its status. If a route has several of these decorators, the topmost
 * decorator sets the status.
 */
export const Answer = (status: number, model: Type, description = 'Done.') =>
  applyDecorators(HttpCode(status), ApiResponse({ status, type: model, description }));

/**
 * Documents a response whose body is an array of the given model.
 * @param maxItems the maximum number of entries, by default 200, as for a page of a list; null for an array of any
 * length
 */
export const AnswerList = (
  model: Type,
  description = 'The entries, newest first. `Link` with `rel="next"` has the URL of the next page.',
  maxItems: number | null = MOST,
) =>
  applyDecorators(
    ApiExtraModels(model),
    ApiResponse({
      status: 200,
      description,
      schema: {
        type: 'array',
        items: { $ref: getSchemaPath(model) },
        ...(maxItems === null ? {} : { maxItems }),
      },
    }),
  );

/** Documents a response without a body, and sets its status. */
export const AnswerEmpty = (status: number, description = 'The request was carried out. The response has no body.') =>
  applyDecorators(HttpCode(status), ApiResponse({ status, description }));
