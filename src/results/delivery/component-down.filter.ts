import { Catch } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { DomainError } from '../../platform/errors.js';
import { ProblemFilter, statusOf, UNAVAILABLE_RETRY_AFTER_S } from '../../platform/http/problem.filter.js';

/**
 * Responds with status 500 to every error after which a retry may succeed, because test drivers retry only after 500
 * (specification, section Errors). The code of the problem names the cause.
 */
@Catch()
export class ComponentDownFilter extends ProblemFilter {
  protected override statusFor({ problem }: DomainError): number {
    return problem.kind === 'unavailable' || problem.kind === 'timed_out' ? 500 : statusOf(problem.kind);
  }

  protected override send(error: DomainError, request: Request, response: Response): void {
    if (this.statusFor(error) === 500) response.set('Retry-After', String(UNAVAILABLE_RETRY_AFTER_S));
    super.send(error, request, response);
  }
}
