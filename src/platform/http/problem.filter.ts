import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { HttpConfig } from './http.config.js';
import { mustBeDoneAgain } from '../database/database.js';
import {
  accountForbidden,
  DomainError,
  internalError,
  malformedJson,
  malformedRequest,
  methodNotAllowed,
  notFound,
  payloadTooLarge,
  rateLimited,
  serviceUnavailable,
  unsupportedMediaType,
  type ProblemKind,
} from '../errors.js';
import { namedFaults } from '../validation/faults.js';
import { Logger } from '../observability/logger.js';
import { requestContext } from '../context/request-context.js';
import { AddressLimit } from '../overload/address-limit.js';
import { closeAfterAnswer } from './connection.js';
import { answerLate } from './late-answers.js';
import { allowedMethods } from './routes.js';

export const UNAVAILABLE_RETRY_AFTER_S = 5;

/** The kinds of problems that count towards the limit of the caller's address if the caller is unauthenticated. */
const COUNTED_REFUSALS: ReadonlySet<ProblemKind> = new Set(['unauthorized', 'not_found', 'method_not_allowed']);

export function statusOf(kind: ProblemKind): number {
  switch (kind) {
    case 'invalid':
      return 400;
    case 'unauthorized':
      return 401;
    case 'forbidden':
      return 403;
    case 'not_found':
      return 404;
    case 'method_not_allowed':
      return 405;
    case 'conflict':
      return 409;
    case 'gone':
      return 410;
    case 'timed_out':
      return 408;
    case 'too_large':
      return 413;
    case 'unsupported':
      return 415;
    case 'unprocessable':
      return 422;
    case 'rate_limited':
      return 429;
    case 'headers_too_large':
      return 431;
    case 'internal':
      return 500;
    case 'unavailable':
      return 503;
  }
}

/**
 * Converts any thrown error to a problem document (RFC 9457). An unknown error is logged, and is reported to the client
 * as an internal error.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    protected readonly config: HttpConfig,
    private readonly logger: Logger,
    private readonly addressLimit: AddressLimit,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    const error = this.counted(toDomainError(thrown, request), request, response);
    if (error.problem.kind === 'internal' || error.problem.kind === 'unavailable')
      this.logger.error({ err: error.cause ?? thrown, code: error.code }, 'request failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (error.problem === rateLimited) answerLate(() => this.send(error, request, response));
    else this.send(error, request, response);
  }

  /**
   * Counts the refusal of an unauthenticated caller towards the limit of the caller's address. When the limit is
   * exceeded, returns the rate limit error instead of the given error.
   */
  private counted(error: DomainError, request: Request, response: Response): DomainError {
    if (requestContext().caller !== null) return error;
    try {
      if (COUNTED_REFUSALS.has(error.problem.kind)) this.addressLimit.count(request, response);
      else if (!response.hasHeader('RateLimit')) this.addressLimit.show(request, response);
      return error;
    } catch (refusal) {
      return refusal as DomainError;
    }
  }

  /**
   * Returns the HTTP status of an error response, which depends on the kind of the problem. Subclasses may return
   * another status.
   */
  protected statusFor(error: DomainError): number {
    return statusOf(error.problem.kind);
  }

  protected send(error: DomainError, request: Request, response: Response): void {
    const status = this.statusFor(error);
    closeAfterAnswer(request, response);
    response
      .status(status)
      .set(error.headers)
      .type('application/problem+json')
      .send(problemDocument(this.config, error, requestContext().requestId, instanceOf(request, error), status));
  }
}

/** Returns the problem document of an error. `instance` is omitted if the request has no readable path. */
export function problemDocument(
  config: HttpConfig,
  error: DomainError,
  requestId: string | null,
  instance?: string,
  status = statusOf(error.problem.kind),
): string {
  return JSON.stringify({
    type: `${config.baseUrl}/problems/${error.code}`,
    title: error.problem.title,
    status,
    detail: error.detail,
    instance,
    code: error.code,
    request_id: requestId,
    ...error.members,
    ...(error.errors.length > 0 ? { errors: namedFaults(error.errors) } : {}),
  });
}

/** Returns the path of the request without its query, which may contain sensitive values. */
function instanceOf(request: Request, error: DomainError): string {
  const path = request.originalUrl.split('?', 1)[0];
  const pattern = (request.route as { path?: string } | undefined)?.path;
  // If the caller may not use the account in the path, `instance` is the pattern of the route instead of the path. The
  // responses for another customer's account and for an unknown account are therefore identical, byte for byte.
  return error.problem === accountForbidden && pattern ? pattern.replaceAll(/:(\w+)/g, '{$1}') : path;
}

function toDomainError(thrown: unknown, request: Request): DomainError {
  if (thrown instanceof DomainError) return thrown;
  if (mustBeDoneAgain(thrown))
    return serviceUnavailable.error({
      cause: thrown,
      headers: { 'Retry-After': String(UNAVAILABLE_RETRY_AFTER_S) },
    });
  // Errors of body-parser and of Express have a `status`. Errors of body-parser also have a `type`.
  const { status, type } = thrown as { status?: unknown; type?: unknown };
  if (type === 'entity.parse.failed') return malformedJson.error();
  if (thrown instanceof HttpException && thrown.getStatus() === 404) return unknownRoute(request);
  if (thrown instanceof URIError || status === 400) return malformedRequest.error();
  if (status === 413) return payloadTooLarge.error();
  if (status === 415) return unsupportedMediaType.error();
  return internalError.error({ cause: thrown });
}

function unknownRoute(request: Request): DomainError {
  const allowed = allowedMethods(request);
  return allowed.length === 0 ? notFound.error() : methodNotAllowed.error({ headers: { Allow: allowed.join(', ') } });
}
