import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { isDatabaseUnavailable } from '../../platform/database/database.js';
import { DomainError, rateLimited } from '../../platform/errors.js';
import { closeAfterAnswer } from '../../platform/http/connection.js';
import { answerLate } from '../../platform/http/late-answers.js';
import { UNAVAILABLE_RETRY_AFTER_S } from '../../platform/http/problem.filter.js';
import { Logger } from '../../platform/observability/logger.js';
import { REALM } from '../../platform/http/challenge.js';

export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'temporarily_unavailable'
  | 'server_error';

/** An error response from the token service (RFC 6749 §5.2). It is sent instead of a problem document. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    readonly description: string,
    readonly status = 400,
    readonly headers: Record<string, string> = {},
  ) {
    super(code);
  }
}

export function invalidRequest(description: string, status = 400): OAuthError {
  return new OAuthError('invalid_request', description, status);
}

/**
 * Builds the common error for a client whose credentials are missing or wrong, and for an unknown or disabled client.
 * From the response, callers cannot distinguish these cases.
 */
export function invalidClient(): OAuthError {
  return new OAuthError(
    'invalid_client',
    'Authenticate with the consumer key and secret of an application by HTTP Basic.',
    401,
    // The response names the authentication scheme that the client used (RFC 6749 §5.2). Basic is the only scheme.
    { 'WWW-Authenticate': `Basic realm="${REALM}"` },
  );
}

/**
 * Builds the common error for a wrong password and for an unknown, disabled or locked user. From the response, callers
 * cannot distinguish these cases.
 */
export function invalidLogin(): OAuthError {
  return new OAuthError('invalid_grant', 'The user name or the password is not valid.');
}

export function invalidRefreshToken(): OAuthError {
  return new OAuthError('invalid_grant', 'The refresh token is not valid for this client.');
}

export function temporarilyUnavailable(status: 429 | 503, retryAfterS: number, description: string): OAuthError {
  return new OAuthError('temporarily_unavailable', description, status, { 'Retry-After': String(retryAfterS) });
}

/** Sends every error on a route of the token service in the form of RFC 6749 §5.2. */
@Catch()
export class TokenErrorFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const error = toOAuthError(thrown);
    if (error.status === 500 || error.status === 503)
      this.logger.error({ err: thrown, code: error.code }, 'token request failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const send = (): void => {
      forbidStoring(response);
      closeAfterAnswer(host.switchToHttp().getRequest<Request>(), response);
      const { code, description } = error;
      response.status(error.status).set(error.headers).json({ error: code, error_description: description });
    };
    if (error.status === 429) answerLate(send);
    else send();
  }
}

function toOAuthError(thrown: unknown): OAuthError {
  if (thrown instanceof OAuthError) return thrown;
  if (isDatabaseUnavailable(thrown))
    return temporarilyUnavailable(503, UNAVAILABLE_RETRY_AFTER_S, 'A component is down. Try again later.');
  if (thrown instanceof DomainError && thrown.problem.kind === 'unavailable')
    return temporarilyUnavailable(
      503,
      Number(thrown.headers['Retry-After']),
      'The service is overloaded. Try again later.',
    );
  if (thrown instanceof DomainError && thrown.problem === rateLimited)
    return temporarilyUnavailable(429, Number(thrown.headers['Retry-After']), 'Too many requests from this address.');
  return new OAuthError('server_error', 'An internal error occurred.', 500);
}

/** Forbids caches to store a response from the token service. RFC 6749 §5.1 requires both headers. */
export function forbidStoring(response: Response): void {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Pragma', 'no-cache');
}
