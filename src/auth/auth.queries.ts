import { Query } from '@nestjs/cqrs';
import type { Scope } from '../platform/context/caller.js';
import type { Page } from '../platform/http/paging.js';
import type { Grant } from './tokens/application.entity.js';

/** A user, with the members that operators see. */
export interface UserView {
  readonly username: string;
  readonly account_codes: string[];
  readonly scopes: Scope[];
  readonly subscription_ids: string[];
  readonly disabled: boolean;
  readonly created_datetime: Date;
  /** The position of the user in lists, which are sorted newest first. */
  readonly position: number;
}

/** An application, with the members that operators see. */
export interface ApplicationView {
  readonly consumer_key: string;
  readonly name: string;
  readonly scopes: Scope[];
  readonly grants: Grant[];
  readonly account_codes: string[];
  readonly subscription_ids: string[];
  readonly disabled: boolean;
  readonly created_datetime: Date;
  /** The position of the application in lists, which are sorted newest first. */
  readonly position: number;
}

/**
 * Asks for one user.
 *
 * @throws DomainError not_found
 */
export class GetUser extends Query<UserView> {
  constructor(readonly username: string) {
    super();
  }
}

export class ListUsers extends Query<UserView[]> {
  constructor(readonly page: Page) {
    super();
  }
}

/**
 * Asks for one application.
 *
 * @throws DomainError not_found
 */
export class GetApplication extends Query<ApplicationView> {
  constructor(readonly consumerKey: string) {
    super();
  }
}

export class ListApplications extends Query<ApplicationView[]> {
  constructor(readonly page: Page) {
    super();
  }
}
