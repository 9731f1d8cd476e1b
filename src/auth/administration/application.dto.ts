import type { Scope } from '../../platform/context/caller.js';
import { Field } from '../../platform/validation/fields.js';
import { boolean, dateTime, listOf, oneOf, text } from '../../platform/validation/rules.js';
import { GRANTS, type Grant } from '../tokens/application.entity.js';
import { accountCodes, scopes, subscriptionIds } from './user.dto.js';

const name = text({ min: 1, max: 100, notBlank: true, example: 'Registration portal' });
const grants = listOf(oneOf(GRANTS, 'grant_unknown'), 10, 1);
const consumerKey = text({ min: 1, max: 64, example: 'K7PTX2M9QWHBK7PTX2M9' });

export class ApplicationPath {
  @Field(consumerKey, { required: true })
  consumer_key: string;
}

export class CreateApplicationBody {
  @Field(name, { required: true })
  name: string;

  @Field(scopes, {
    required: true,
    description: 'The scopes of the application. A token never has a scope that its application lacks.',
  })
  scopes: Scope[];

  @Field(grants, {
    description: 'The grants that the application may use. By default these are `password` and `refresh_token`.',
  })
  grants?: Grant[] | null;

  @Field(accountCodes, {
    description:
      'The accounts that the application can access with the grant `client_credentials`. By default the list is empty.',
  })
  account_codes?: string[] | null;

  @Field(subscriptionIds, {
    description:
      'The subscriptions that the application can access with the grant `client_credentials` and the scope `partner`. ' +
      'By default the list is empty.',
  })
  subscription_ids?: string[] | null;
}

/**
 * The changes to an application. An omitted member keeps its value. Null resets `grants` to its default, and clears
 * every other list and `disabled`.
 */
export class UpdateApplicationBody {
  @Field(name, { notNull: true })
  name?: string;

  @Field(scopes)
  scopes?: Scope[] | null;

  @Field(grants)
  grants?: Grant[] | null;

  @Field(accountCodes)
  account_codes?: string[] | null;

  @Field(subscriptionIds)
  subscription_ids?: string[] | null;

  @Field(boolean())
  disabled?: boolean | null;
}

export class ApplicationModel {
  @Field(consumerKey, { required: true })
  consumer_key: string;

  @Field(name, { required: true })
  name: string;

  @Field(scopes, { required: true })
  scopes: Scope[];

  /**
   * The grants of the application. In a response, the list may be empty: the console's own application has no grants,
   * because console sessions need no grants.
   */
  @Field(listOf(oneOf(GRANTS, 'grant_unknown'), 10), { required: true })
  grants: Grant[];

  @Field(accountCodes, { required: true })
  account_codes: string[];

  @Field(subscriptionIds, { required: true })
  subscription_ids: string[];

  @Field(boolean(), { required: true })
  disabled: boolean;

  @Field(dateTime(), { required: true })
  created_datetime: string;
}

export class ApplicationCredentialsModel {
  @Field(consumerKey, { required: true })
  consumer_key: string;

  @Field(text({ max: 64 }), { required: true, description: 'The consumer secret. It is shown only once.' })
  consumer_secret: string;
}
