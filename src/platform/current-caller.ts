import { Query } from '@nestjs/cqrs';
import type { Request } from 'express';
import type { Caller } from './context/caller.js';

/**
 * Asks again who the caller of a long-running request is. The result is null if the caller's token or session is no
 * longer valid. The query does not extend the session. The auth module answers the query.
 */
export class FindCaller extends Query<Caller | null> {
  constructor(readonly request: Request) {
    super();
  }
}
