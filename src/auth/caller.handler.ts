import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { Caller } from '../platform/context/caller.js';
import { FindCaller } from './auth.queries.js';
import { BearerStrategy } from './bearer.strategy.js';
import { Sessions } from './sessions.js';

@QueryHandler(FindCaller)
export class FindCallerHandler implements IQueryHandler<FindCaller> {
  constructor(
    private readonly bearer: BearerStrategy,
    private readonly sessions: Sessions,
  ) {}

  execute({ request }: FindCaller): Promise<Caller | null> {
    return request.headers.authorization === undefined ? this.sessions.peek(request) : this.bearer.callerOf(request);
  }
}
