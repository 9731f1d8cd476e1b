import { Query } from '@nestjs/cqrs';
import type { Scope } from './context/caller.js';

/**
 * What a user may still do through an application in an account: the scopes that both have; null when either is disabled, or the
 * account is not the user's. Asked by modules that have work of the user left to do and know no users, which auth answers.
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
