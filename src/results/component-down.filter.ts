import { Catch, type ArgumentsHost } from '@nestjs/common';
import { isNoConnectionFree } from '../platform/database/connection-turns.js';
import { isDatabaseUnavailable, isTimedOut } from '../platform/database/database.js';
import { internalError } from '../platform/errors.js';
import { ProblemFilter } from '../platform/http/problem.filter.js';

/**
 * Test drivers know a component that is down by 500, not by 503, and send again (specification, Errors). One that is there
 * and has too much to do is not down.
 */
@Catch()
export class ComponentDownFilter extends ProblemFilter {
  override catch(thrown: unknown, host: ArgumentsHost): void {
    const isDown = isDatabaseUnavailable(thrown) && !isNoConnectionFree(thrown) && !isTimedOut(thrown);
    super.catch(isDown ? internalError.error({ cause: thrown }) : thrown, host);
  }
}
