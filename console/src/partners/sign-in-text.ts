import type { Schemas } from '../api/client';

/** Describes how the service authenticates itself to a partner. The text contains no secrets. */
export function signInText({ type, headers = [], ...rest }: Schemas['SubscriptionModel']['auth']): string {
  const names = headers.map(({ name }) => name).join(', ');
  if (type === 'headers') return `Headers: ${names}`;
  const way = wayText(type, rest);
  return names === '' ? way : `${way}; headers: ${names}`;
}

function wayText(type: Schemas['SubscriptionModel']['auth']['type'], rest: object): string {
  const { username, client_id: client, token_url: tokenUrl } = rest as Record<string, string | undefined>;
  switch (type) {
    case 'basic':
      return `User name ${username}`;
    case 'bearer':
      return 'A token';
    case 'oauth2_client_credentials':
      return `OAuth 2.0 client ${client} at ${tokenUrl}`;
    default:
      return 'None (requests are signed)';
  }
}
