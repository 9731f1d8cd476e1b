import { SCOPES, type Scope } from '../../platform/context/caller.js';
import { Field, ObjectField, ObjectListField } from '../../platform/validation/fields.js';
import { boolean, dateTime, flag, listOf, oneOf, text } from '../../platform/validation/rules.js';

export class SignInBody {
  @Field(text({ min: 1, max: 100 }), { required: true })
  username: string;

  @Field(text({ min: 1, max: 128 }), { required: true })
  password: string;
}

export class SessionAccount {
  @Field(text({ max: 64 }), { required: true })
  account_code: string;

  @Field(text({ max: 200 }), { required: true })
  name: string;
}

export class SessionModel {
  @Field(text({ max: 100 }), { required: true })
  username: string;

  @Field(listOf(oneOf(SCOPES, 'scope_unknown'), 50), { required: true })
  scopes: Scope[];

  @Field(listOf(text({ max: 64 }), 1000), {
    required: true,
    description:
      'The accounts of the user. With the scope `admin`, the user has access to every other account as well.',
  })
  account_codes: string[];

  @ObjectListField(() => SessionAccount, 1000, {
    required: true,
    description: 'The accounts in `account_codes` with their names, sorted by name.',
  })
  accounts: SessionAccount[];

  @Field(dateTime(), {
    required: true,
    description: 'The latest time at which the session ends. A session also ends after half an hour without a request.',
  })
  expires_datetime: string;

  @Field(boolean(), {
    required: true,
    description: 'Whether the user signs in, and can sign out, at the organisation.',
  })
  organisation: boolean;
}

/** The ways in which operators may sign in. */
export class SignInWays {
  @Field(boolean(), { required: true, description: 'Whether operators can sign in with user name and password.' })
  password: boolean;

  @Field(boolean(), {
    required: true,
    description: 'Whether operators can sign in at the organisation, through `GET /console/sign-in`.',
  })
  organisation: boolean;
}

export class SessionState {
  @ObjectField(() => SessionModel, {
    always: true,
    description: 'The session; null if no user is signed in.',
  })
  session: SessionModel | null;

  @ObjectField(() => SignInWays, { required: true })
  sign_in: SignInWays;
}

export class SignOutQuery {
  @Field(flag(), {
    description: 'With true the response has the address at which the user can also sign out of the organisation.',
  })
  organisation?: string;
}

export class SignedOut {
  @Field(text({ max: 2000, format: 'uri' }), {
    always: true,
    description:
      'Address at which the browser signs out of the identity provider, which then returns it to the console. The value is null if there is no such address.',
  })
  organisation: string | null;
}
