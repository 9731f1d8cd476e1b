import { Command } from '@nestjs/cqrs';
import type { Scope } from '../platform/context/caller.js';
import { Faults } from '../platform/validation/faults.js';
import { DEFAULT_GRANTS, type Grant } from './tokens/application.entity.js';
import type { ApplicationView, UserView } from './auth.queries.js';

/**
 * Creates a user.
 *
 * @throws DomainError username_taken; validation_error with `password_weak`, and with `account_not_found` for each
 * unknown account and `subscription_not_found` for each unknown subscription
 */
export class CreateUser extends Command<UserView> {
  constructor(
    readonly username: string,
    readonly password: string,
    readonly accountCodes: readonly string[],
    readonly scopes: readonly Scope[],
    readonly subscriptionIds: readonly string[] = [],
    /**
     * The faults that the validation of the request has found. The handler adds its own faults, and refuses the request
     * if there are any.
     */
    readonly faults = new Faults(),
  ) {
    super();
  }
}

/**
 * The changes to a user. An omitted member keeps its value. A new password, a removed account or `disabled` ends every
 * token of the user. A removed scope or subscription ends the tokens that had this scope or subscription. A new
 * password also unlocks the user name.
 */
export interface UserChanges {
  readonly password?: string;
  readonly accountCodes?: readonly string[];
  readonly scopes?: readonly Scope[];
  readonly subscriptionIds?: readonly string[];
  readonly disabled?: boolean;
}

/**
 * Changes a user. The change applies from the next request on.
 * @throws DomainError not_found, last_operator; validation_error with `account_not_found`,
 * `subscription_not_found` or `password_elsewhere`
 */
export class UpdateUser extends Command<UserView> {
  constructor(
    readonly username: string,
    readonly changes: UserChanges,
    /**
     * The faults that the validation of the request has found. The handler adds its own faults, and refuses the request
     * if there are any.
     */
    readonly faults = new Faults(),
  ) {
    super();
  }
}

/**
 * Unlocks a user name in all applications, after it was locked because of wrong passwords.
 *
 * @throws DomainError not_found
 */
export class UnlockUser extends Command<void> {
  constructor(readonly username: string) {
    super();
  }
}

/** The consumer key and the secret of an application. The secret is not stored and is shown only once. */
export interface ApplicationCredentials {
  readonly consumer_key: string;
  readonly consumer_secret: string;
}

/** The accounts and subscriptions that an application may use when it is itself the caller (`client_credentials`). */
export interface Assignments {
  readonly accountCodes?: readonly string[];
  readonly subscriptionIds?: readonly string[];
}

/**
 * Creates an OAuth2 client with a new consumer key and secret.
 * @throws DomainError validation_error with `account_not_found` or `subscription_not_found`
 */
export class CreateApplication extends Command<ApplicationCredentials> {
  constructor(
    readonly name: string,
    readonly scopes: readonly Scope[],
    readonly grants: readonly Grant[] = DEFAULT_GRANTS,
    readonly assignments: Assignments = {},
    readonly faults = new Faults(),
  ) {
    super();
  }
}

/**
 * The changes to an application. An omitted member keeps its value. `disabled` ends every token of the application. A
 * removed account, subscription or grant ends the tokens that were issued to the application itself.
 */
export interface ApplicationChanges extends Assignments {
  readonly name?: string;
  readonly scopes?: readonly Scope[];
  readonly grants?: readonly Grant[];
  readonly disabled?: boolean;
}

/**
 * Changes an application. The change applies from the next request on.
 * @throws DomainError not_found, console_application; validation_error with `account_not_found` or
 * `subscription_not_found`
 */
export class UpdateApplication extends Command<ApplicationView> {
  constructor(
    readonly consumerKey: string,
    readonly changes: ApplicationChanges,
    readonly faults = new Faults(),
  ) {
    super();
  }
}

/**
 * Replaces the secret of an application. The old secret becomes invalid immediately.
 *
 * @throws DomainError not_found
 */
export class RotateApplicationSecret extends Command<ApplicationCredentials> {
  constructor(readonly consumerKey: string) {
    super();
  }
}
