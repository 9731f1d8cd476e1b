import { Query } from '@nestjs/cqrs';
import type { Request } from 'express';
import type { Caller } from './context/caller.js';

/**
 * Checks the caller of a long-running request again, and returns the caller; null if the token or session is no longer
 * valid. The check does not extend the session. The auth module handles this query.
 */
export class FindCaller extends Query<Caller | null> {
  constructor(readonly request: Request) {
    super();
  }
}
