import type { Schemas } from '../api/client';

/** How the service signs in at a partner; its secrets are never shown. */
export function signInText({ type, ...rest }: Schemas['SubscriptionModel']['auth']): string {
  const { username, client_id: client, token_url: tokenUrl } = rest as Record<string, string | undefined>;
  switch (type) {
    case 'basic':
      return `User name ${username}`;
    case 'headers':
      return 'Headers of the partner’s own';
    case 'bearer':
      return 'A token';
    case 'oauth2_client_credentials':
      return `OAuth 2.0 client ${client} at ${tokenUrl}`;
    default:
      return 'None; requests are signed';
  }
}
