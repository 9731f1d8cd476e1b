import { Query } from '@nestjs/cqrs';
import type { Scope } from './context/caller.js';

/**
 * Asks for the scopes that a user still has through an application in an account. Null if the user or the application
 * is disabled, or if the user does not belong to the account. The auth module answers this query. Modules ask it before
 * they continue work that a user has started.
 */
export class FindCurrentScopes extends Query<ReadonlySet<Scope> | null> {
  constructor(
    readonly username: string,
    readonly consumerKey: string,
    readonly accountCode: string,
  ) {
    super();
  }
}
