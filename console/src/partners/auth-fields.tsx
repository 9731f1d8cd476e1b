import type { Schemas } from '../api/client';
import type { Option } from '../components/fields';
import { FormField, type FormState } from '../components/form';

export type AuthType = NonNullable<Schemas['SubscriptionModel']['auth']['type']>;

const HEADERS = 'auth/headers';
const CLIENT_AUTH = 'auth/client_auth';
const MORE_HEADERS = { [HEADERS]: 'More headers' };

/** The names and labels of the form fields for each type of partner authentication. */
const FIELDS: Record<AuthType, Record<string, string>> = {
  none: {},
  headers: { [HEADERS]: 'Headers' },
  basic: { 'auth/username': 'User name', 'auth/password': 'Password', ...MORE_HEADERS },
  bearer: { 'auth/token': 'Token', ...MORE_HEADERS },
  oauth2_client_credentials: {
    'auth/token_url': 'Token URL',
    'auth/client_id': 'Client id',
    [CLIENT_AUTH]: 'Client authentication method',
    'auth/client_secret': 'Client secret',
    'auth/scope': 'Scope',
    'auth/audience': 'Audience',
    'auth/resource': 'Resource',
    ...MORE_HEADERS,
  },
};

export const AUTH_OPTIONS: readonly Option[] = [
  ['none', 'None (requests are signed)'],
  ['basic', 'User name and password'],
  ['bearer', 'A token'],
  ['headers', 'Headers, such as an API key'],
  ['oauth2_client_credentials', 'OAuth 2.0 client credentials'],
];

const CLIENT_AUTH_OPTIONS: readonly Option[] = [
  ['basic', 'Client id and secret with HTTP Basic authentication'],
  ['post', 'Client id and secret in the request body'],
  ['private_key_jwt', 'Signature with this service’s key (no secret needed)'],
];

const HINTS: Record<string, string> = {
  [HEADERS]: 'Enter one header per line, such as X-Api-Key: 12345. The values will not be shown again.',
  'auth/client_secret': 'No secret is needed if the service authenticates with a signature.',
  'auth/scope': 'Enter a scope only if the token service requires one.',
  'auth/audience': 'Enter an audience only if the token service requires one.',
  'auth/resource': 'Enter a resource (RFC 8707) only if the token service requires one.',
};

/** Returns empty values for the form fields of a type of partner authentication, by the names of the fields. */
export function emptyAuth(type: AuthType): Record<string, string> {
  return Object.fromEntries(Object.keys(FIELDS[type]).map((name) => [name, '']));
}

/** Builds the `auth` member of the request body from the form's values. */
export function authOf(type: AuthType, given: object | null | undefined): Schemas['SubscriptionBody']['auth'] {
  const { headers = '', ...rest } = (given ?? {}) as { headers?: string };
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  return { ...rest, ...(lines.length > 0 ? { headers: lines.map(headerOf) } : {}), type } as ReturnType<typeof authOf>;
}

/** Parses a header that the user typed, such as `X-Api-Key: 12345`. */
function headerOf(line: string): { name: string; value: string } {
  const [name, ...value] = line.split(':');
  return { name: name.trim(), value: value.join(':').trim() };
}

export function AuthFields({ form, type }: { form: FormState; type: AuthType }) {
  return Object.entries(FIELDS[type]).map(([name, label]) => (
    <FormField
      key={name}
      form={form}
      name={name}
      label={label}
      hint={HINTS[name]}
      rows={name === HEADERS ? 3 : undefined}
      options={name === CLIENT_AUTH ? CLIENT_AUTH_OPTIONS : undefined}
      type={/password|secret|token$/.test(name) ? 'password' : undefined}
    />
  ));
}
