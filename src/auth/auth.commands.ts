import { Command } from '@nestjs/cqrs';
import type { Scope } from '../platform/context/caller.js';
import { Faults } from '../platform/validation/faults.js';
import { GRANTS, type Grant } from './tokens/application.entity.js';
import type { ApplicationView, UserView } from './auth.queries.js';

/** Makes a user. Refused with `username_taken`, `password_weak`, and with `account_not_found` for each unknown account. */
export class CreateUser extends Command<UserView> {
  constructor(
    readonly username: string,
    readonly password: string,
    readonly accountCodes: readonly string[],
    readonly scopes: readonly Scope[],
    /** Of the form of the request: refused with what is found here. */
    readonly faults = new Faults(),
  ) {
    super();
  }
}

/**
 * A member that is left out keeps its value. A new password, an account taken away, or `disabled`, ends every token of the user, and a scope taken
 * away those that had it; a new password lifts a lock-out.
 */
export interface UserChanges {
  readonly password?: string;
  readonly accountCodes?: readonly string[];
  readonly scopes?: readonly Scope[];
  readonly disabled?: boolean;
}

/** Changes a user; seen by the very next request. Refused with `not_found`, `account_not_found`, `password_elsewhere`, `last_operator`. */
export class UpdateUser extends Command<UserView> {
  constructor(
    readonly username: string,
    readonly changes: UserChanges,
    /** Of the form of the request: refused with what is found here. */
    readonly faults = new Faults(),
  ) {
    super();
  }
}

/** Ends every lock-out of a user name. Refused with `not_found`. */
export class UnlockUser extends Command<void> {
  constructor(readonly username: string) {
    super();
  }
}

/** The consumer key of an application with its secret, which is in no table and is shown only once. */
export interface ApplicationCredentials {
  readonly consumer_key: string;
  readonly consumer_secret: string;
}

/** Makes an OAuth2 client with a new consumer key and secret. */
export class CreateApplication extends Command<ApplicationCredentials> {
  constructor(
    readonly name: string,
    readonly scopes: readonly Scope[],
    readonly grants: readonly Grant[] = GRANTS,
  ) {
    super();
  }
}

/** A member that is left out keeps its value. `disabled` ends every token of the application. */
export interface ApplicationChanges {
  readonly name?: string;
  readonly scopes?: readonly Scope[];
  readonly grants?: readonly Grant[];
  readonly disabled?: boolean;
}

/** Changes an application; seen by the very next request. Refused with `not_found`. */
export class UpdateApplication extends Command<ApplicationView> {
  constructor(
    readonly consumerKey: string,
    readonly changes: ApplicationChanges,
  ) {
    super();
  }
}

/** Puts a new secret in the place of the old one, which is dead at once. Refused with `not_found`. */
export class RotateApplicationSecret extends Command<ApplicationCredentials> {
  constructor(readonly consumerKey: string) {
    super();
  }
}
