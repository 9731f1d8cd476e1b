import { declareFaults } from '../../platform/errors.js';
import { SCOPES, type Scope } from '../../platform/context/caller.js';
import { isReservedName } from './reserved-names.js';
import { Field } from '../../platform/validation/fields.js';
import { uuidRule } from '../../platform/validation/identifiers.js';
import { boolean, dateTime, listOf, oneOf, text, type Rule } from '../../platform/validation/rules.js';

declareFaults({
  username_invalid: [
    'The value cannot be used as a user name.',
    'Use at most 64 characters: the letters A to Z in upper or lower case, digits and . _ @ + -. Reserved names, and names that consist only of dots, are not allowed.',
  ],
  password_weak: [
    'The password is too easy to guess.',
    'Choose a password of 12 to 128 characters that is neither the user name nor a common password.',
  ],
  password_elsewhere: [
    'A password cannot be set for this user, because operators sign in through the identity provider of the organisation.',
    'Leave the password out. The user signs in to the console with OpenID Connect.',
  ],
  grant_unknown: [
    'The value is not a known OAuth 2.0 grant type.',
    'Use one or more of password, refresh_token and client_credentials.',
  ],
  subscription_not_found: [
    'No subscription has this id.',
    'Use the id of an existing subscription. GET /admin/subscriptions lists all subscriptions.',
  ],
  scope_unknown: ['The value is not a known scope.', 'Use the scopes that the API description lists.'],
});

const MOST_ACCOUNTS = 1000;

/**
 * The rule for a new user name. The rule forbids invisible and look-alike characters. It also forbids a name that
 * consists only of dots, because the name is a segment of URL paths.
 */
const newUsername = text({
  min: 1,
  max: 64,
  pattern: /^[A-Za-z0-9._@+-]*$/,
  code: 'username_invalid',
  form: 'Must consist of letters A to Z, digits and . _ @ + -. Dots alone and reserved names are not allowed.',
  accepts: (value) => !/^\.+$/.test(value) && !isReservedName(value),
  example: 'integration-user',
});
/**
 * The rule for a user name in a path. The rule accepts even a name that no user can have. The response for such a name
 * is 404, as for an unknown name.
 */
const username = text({ min: 1, max: 100, example: 'integration-user' });
const passwordText = text({ min: 12, max: 128 });
/**
 * The rule for a new password. All unsuitable passwords are reported with the same fault code. password-strength.ts
 * checks the passwords that are long enough.
 */
const password: Rule = {
  schema: passwordText.schema,
  faults: (value) =>
    passwordText
      .faults(value)
      .map((found) => (/^(too_|blank)/.test(found.code) ? { ...found, code: 'password_weak' } : found)),
};
/** The rule for the accounts of a user or an application. */
export const accountCodes = listOf(text({ min: 1, max: 64, example: 'K7PTX2M9QWHB' }), MOST_ACCOUNTS);
/** The rule for the subscriptions of a user or an application. */
export const subscriptionIds = listOf(uuidRule, 200);
/** The rule for a list of scopes. Repeated scopes count once. */
export const scopes = listOf(oneOf(SCOPES, 'scope_unknown'), 50);

export class UserPath {
  @Field(username, { required: true })
  username: string;
}

export class CreateUserBody {
  @Field(newUsername, { required: true })
  username: string;

  @Field(password, {
    required: true,
    description: 'A password that is hard to guess and differs from the user name. It is stored only as a hash.',
  })
  password: string;

  @Field(accountCodes, { description: 'The accounts that the user can access. By default the list is empty.' })
  account_codes?: string[] | null;

  @Field(scopes, {
    required: true,
    description:
      'The rights of the user. With `admin` the user is an operator of every account, and with `support` of the ' +
      'user’s own accounts. With `partner` the user sees the notifications of the subscriptions in `subscription_ids`.',
  })
  scopes: Scope[];

  @Field(subscriptionIds, {
    description: 'The subscriptions that the user can access with the scope `partner`. By default the list is empty.',
  })
  subscription_ids?: string[] | null;
}

/** The changes to a user. An omitted member keeps its value; null clears a list and `disabled`. */
export class UpdateUserBody {
  @Field(password, {
    notNull: true,
    description:
      'A new password revokes every token of the user and unlocks the user. An operator who signs in at an identity provider has no password.',
  })
  password?: string;

  @Field(accountCodes)
  account_codes?: string[] | null;

  @Field(scopes)
  scopes?: Scope[] | null;

  @Field(subscriptionIds)
  subscription_ids?: string[] | null;

  @Field(boolean())
  disabled?: boolean | null;
}

export class UserModel {
  @Field(username, { required: true })
  username: string;

  @Field(accountCodes, { required: true })
  account_codes: string[];

  @Field(scopes, { required: true })
  scopes: Scope[];

  @Field(subscriptionIds, { required: true })
  subscription_ids: string[];

  @Field(boolean(), { required: true })
  disabled: boolean;

  @Field(dateTime(), { required: true })
  created_datetime: string;
}
