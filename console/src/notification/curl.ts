import type { Schemas } from '../api/client';

export type HeaderLine = readonly [name: string, value: string];

const MASK = '••••••••';

/**
 * Returns the headers of the request that sends a notification. Secrets are masked, because the service never shows
 * them.
 */
export function requestHeaders(
  notification: Schemas['NotificationDetail'],
  subscription?: Schemas['SubscriptionModel'],
): HeaderLine[] {
  const type = subscription?.auth.type ?? 'none';
  const authorization: HeaderLine[] =
    type === 'none' ? [] : [['Authorization', type === 'basic' ? `Basic ${MASK}` : `Bearer ${MASK}`]];
  return [
    ['Content-Type', 'application/json'],
    ['webhook-id', notification.id],
    ['webhook-timestamp', 'the time of the attempt in seconds'],
    ['webhook-signature', `v1,${MASK}`],
    ['event-sequence', String(notification.event_sequence)],
    ...authorization,
  ];
}

/** Returns a curl command that sends the same request to the partner's address, with placeholders for secrets. */
export function curlOf(
  notification: Schemas['NotificationDetail'],
  subscription: Schemas['SubscriptionModel'],
  url: string,
): string {
  const { auth } = subscription;
  const sign =
    auth.type === 'basic'
      ? [`--user ${quoted(`${auth.username ?? ''}:PASSWORD`)}`]
      : auth.type === 'none'
        ? []
        : [`--header 'Authorization: Bearer TOKEN'`];
  return [
    `curl --request PUT ${quoted(`${url.replace(/\/$/, '')}/notifications`)}`,
    `--header 'Content-Type: application/json'`,
    `--header ${quoted(`webhook-id: ${notification.id}`)}`,
    `--header 'event-sequence: ${notification.event_sequence}'`,
    ...sign,
    `--data-raw ${quoted(JSON.stringify(notification.body))}`,
  ].join(' \\\n  ');
}

/** Quotes a string as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
