import type { Option } from '../components/fields';
import type { Schemas } from '../api/client';

/** The types of one line each; headers of a partner's own are set by the API. */
export type AuthType = Exclude<NonNullable<Schemas['SubscriptionModel']['auth']['type']>, 'headers'>;

/** The fields of each way to sign in at a partner: members of the body, with their labels. */
export const AUTH_FIELDS: Record<AuthType, Record<string, string>> = {
  none: {},
  basic: { 'auth/username': 'User name', 'auth/password': 'Password' },
  bearer: { 'auth/token': 'Token' },
  oauth2_client_credentials: {
    'auth/token_url': 'Token URL',
    'auth/client_id': 'Client id',
    'auth/client_secret': 'Client secret',
    'auth/scope': 'Scope',
    'auth/audience': 'Audience',
    'auth/resource': 'Resource',
  },
};

export const AUTH_OPTIONS: readonly Option[] = [
  ['none', 'None; requests are signed'],
  ['basic', 'User name and password'],
  ['bearer', 'A token'],
  ['oauth2_client_credentials', 'OAuth 2.0 client credentials'],
];

export function isSecret(name: string): boolean {
  return /password|secret|token$/.test(name);
}
