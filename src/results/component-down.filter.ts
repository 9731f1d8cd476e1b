import { Catch, type ArgumentsHost } from '@nestjs/common';
import { isDatabaseUnavailable } from '../platform/database/database.js';
import { internalError } from '../platform/errors.js';
import { ProblemFilter } from '../platform/http/problem.filter.js';

/** Test drivers know a component that is down by 500, not by 503, and send again (specification, Errors). */
@Catch()
export class ComponentDownFilter extends ProblemFilter {
  override catch(thrown: unknown, host: ArgumentsHost): void {
    super.catch(isDatabaseUnavailable(thrown) ? internalError.error({ cause: thrown }) : thrown, host);
  }
}
