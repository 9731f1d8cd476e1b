import { Query } from '@nestjs/cqrs';
import type { Scope } from './context/caller.js';

/**
 * Asks which scopes a user currently has in an account through the given application. The result is null if the user or
 * the application is disabled, or if the user does not belong to the account. The auth module answers this query.
 * Modules ask it before they continue work that a user has started.
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
