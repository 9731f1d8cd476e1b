import { Query } from '@nestjs/cqrs';
import type { Request } from 'express';
import type { Caller } from './context/caller.js';

/**
 * Asks for the caller of a long-running request again; null if the caller's token or session is no longer valid. The
 * query does not extend a session. The auth module answers it.
 */
export class FindCaller extends Query<Caller | null> {
  constructor(readonly request: Request) {
    super();
  }
}
