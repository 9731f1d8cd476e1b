/** The kinds of problems; http/problem.filter.ts maps each kind to an HTTP status. */
export type ProblemKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'gone'
  | 'timed_out'
  | 'too_large'
  | 'unsupported'
  | 'unprocessable'
  | 'rate_limited'
  | 'headers_too_large'
  | 'internal'
  | 'unavailable';

/** An error in a request. Its location is a `pointer` into the body (RFC 6901) or the name of a `parameter`. */
export interface Fault {
  pointer?: string;
  parameter?: string;
  code: string;
  detail: string;
}

export interface ProblemOptions {
  detail?: string;
  errors?: Fault[];
  /** Additional members of the error response, beyond those of RFC 9457 (§3.2). */
  members?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** A problem: an entry of the error catalogue at `/problems`. */
export class Problem {
  constructor(
    readonly code: string,
    readonly kind: ProblemKind,
    readonly title: string,
    readonly description: string,
    /** The additional members that an error response of this problem may have (RFC 9457 §3.2). */
    readonly members: readonly string[],
  ) {}

  /**
   * Returns the error to throw. The `detail` is sent to the client. The detail must therefore never contain SQL, paths,
   * names of libraries or data of another account.
   */
  error(options: ProblemOptions = {}): DomainError {
    return new DomainError(this, options);
  }
}

/** An error that the service throws on purpose. The error refers to the problem that is reported to the client. */
export class DomainError extends Error {
  readonly detail: string;
  readonly errors: Fault[];
  readonly members: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    readonly problem: Problem,
    options: ProblemOptions,
  ) {
    super(`${problem.code}: ${options.detail ?? problem.title}`, { cause: options.cause });
    this.detail = options.detail ?? problem.description;
    this.errors = options.errors ?? [];
    this.members = options.members ?? {};
    this.headers = options.headers ?? {};
  }

  get code(): string {
    return this.problem.code;
  }
}

const catalogue = new Map<string, Problem>();

/** Returns every problem of the service, sorted by code. */
export function problemCatalogue(): readonly Problem[] {
  return [...catalogue.values()].sort((a, b) => (a.code < b.code ? -1 : 1));
}

/** Declares a problem, and adds it to the error catalogue. Each code must be declared only once. */
export function defineProblem(
  code: string,
  kind: ProblemKind,
  title: string,
  description: string,
  members: readonly string[] = [],
): Problem {
  if (catalogue.has(code)) throw new Error(`The problem ${code} is declared twice.`);
  const problem = new Problem(code, kind, title, description, members);
  catalogue.set(code, problem);
  return problem;
}

/** The meaning of a code in `errors[].code`: an error in a member or parameter, and its remedy. */
export interface FaultMeaning {
  readonly code: string;
  readonly description: string;
  readonly remedy: string;
  /**
   * Whether the code occurs only in `warnings`, which describe an accepted request or an accepted line of an import.
   */
  readonly isWarning: boolean;
}

type Meanings = Record<string, readonly [description: string, remedy: string]>;

const meanings = new Map<string, FaultMeaning>();

/** Returns the meaning of every code of `errors[].code`, except codes that are also codes of problems. */
export function faultCatalogue(): readonly FaultMeaning[] {
  return [...meanings.values()].sort((a, b) => (a.code < b.code ? -1 : 1));
}

/** Returns whether the code occurs only in `warnings`. */
export function isWarning(code: string): boolean {
  return meanings.get(code)?.isWarning === true;
}

/**
 * Declares codes of `errors[].code`, each with its meaning and its remedy. Place the declaration next to the validation
 * rule that reports these codes.
 */
export function declareFaults(declared: Meanings): void {
  declare(declared, false);
}

/** Declares codes of `warnings[].code`, in the same way as {@link declareFaults}. */
export function declareWarnings(declared: Meanings): void {
  declare(declared, true);
}

function declare(declared: Meanings, isWarning: boolean): void {
  for (const [code, [description, remedy]] of Object.entries(declared)) {
    if (meanings.has(code)) throw new Error(`The fault ${code} is declared twice.`);
    meanings.set(code, { code, description, remedy, isWarning });
  }
}

/**
 * The name of an additional member in the error response to a refused result. If the service stores the body of the
 * result as an unmatched result, the member contains the id of that unmatched result.
 */
export const KEPT_RESULT = ['unmatched_result_id'];

export const validationError = defineProblem(
  'validation_error',
  'invalid',
  'The request is not valid',
  'Each entry of `errors` describes one error. The entry contains either a `pointer`, which is the JSON Pointer to a member of the body, or a `parameter`, which is the name of a parameter.',
  KEPT_RESULT,
);
export const malformedJson = defineProblem(
  'malformed_json',
  'invalid',
  'The body is not well-formed JSON',
  'The body must be one JSON value in UTF-8 (RFC 8259), nested at most 64 levels deep. No object may contain the same member twice, except in the body of an exam result.',
  KEPT_RESULT,
);
export const malformedRequest = defineProblem(
  'malformed_request',
  'invalid',
  'The request cannot be read',
  'The path, a header or the transfer encoding of the request violates the rules of HTTP.',
  KEPT_RESULT,
);
export const unauthorized = defineProblem(
  'unauthorized',
  'unauthorized',
  'A valid access token is required',
  'Send an access token of this service in the header `Authorization: Bearer …` (RFC 6750).',
);
export const insufficientScope = defineProblem(
  'insufficient_scope',
  'forbidden',
  'The access token lacks a scope',
  'The access token does not have the scope that this operation requires.',
);
export const accountForbidden = defineProblem(
  'account_forbidden',
  'forbidden',
  'You have no access to this account',
  'The user or application that sent the request has no access to the account that the request names.',
);
export const accountNotFound = defineProblem(
  'account_not_found',
  'invalid',
  'The account does not exist',
  'The request contains an account code that does not exist.',
);
export const forbiddenOperation = defineProblem(
  'forbidden_operation',
  'forbidden',
  'The operation is not allowed',
  'The state of the record does not allow the operation, or the request changes a member that cannot be changed. Nothing was changed.',
);
export const notFound = defineProblem('not_found', 'not_found', 'Not found', 'Nothing exists at this address.');
export const methodNotAllowed = defineProblem(
  'method_not_allowed',
  'method_not_allowed',
  'Method not allowed',
  'This address does not support the HTTP method of the request. The Allow header lists the methods that it supports.',
);
export const requestTimeout = defineProblem(
  'request_timeout',
  'timed_out',
  'The body did not arrive in time',
  'The body stopped arriving, or arrived too slowly. Nothing was changed. Send the request again.',
);
export const payloadTooLarge = defineProblem(
  'payload_too_large',
  'too_large',
  'The body is too large',
  'The body has more bytes than this operation allows, or more than 100,000 JSON values.',
);
export const unsupportedMediaType = defineProblem(
  'unsupported_media_type',
  'unsupported',
  'Unsupported media type',
  'Send the body in UTF-8 with the media type application/json.',
  KEPT_RESULT,
);
export const rateLimited = defineProblem(
  'rate_limited',
  'rate_limited',
  'Too many requests',
  'The limit of requests per minute has been reached. Wait for the number of seconds in the Retry-After header, and ' +
    'send the request again.',
);
export const headersTooLarge = defineProblem(
  'headers_too_large',
  'headers_too_large',
  'The headers are too large',
  'The request line and the headers together are larger than 16 KiB.',
);
export const internalError = defineProblem(
  'internal_error',
  'internal',
  'Internal error',
  'An unexpected error occurred in the service. The requested change was made either completely or, more likely, not at all. Read the record to check, or send the request again with the same Idempotency-Key.',
);
export const serviceUnavailable = defineProblem(
  'service_unavailable',
  'unavailable',
  'Service unavailable',
  'A component of the service is down or overloaded. The requested change was made either completely or, more likely, not at all. Wait for the number of seconds in the Retry-After header. Then send the request again with the same Idempotency-Key.',
);
