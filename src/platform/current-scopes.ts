import { Query } from '@nestjs/cqrs';
import type { Scope } from './context/caller.js';

/**
 * Asks for the scopes that a user still has through an application in an account. Null when either is disabled, or the
 * account is not the user's. Modules with unfinished work of a user ask it, and auth answers.
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
