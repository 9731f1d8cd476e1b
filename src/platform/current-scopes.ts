import { Query } from '@nestjs/cqrs';
import type { Scope } from './context/caller.js';

/**
 * Asks for the scopes that a user still has through an application in an account. The answer is null when either is
 * disabled, or the user does not belong to the account. Modules with unfinished work of a user ask it; the module auth
 * answers.
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
