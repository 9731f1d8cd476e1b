/**
 * The change feed of the account has the changes that were pushed while you were away, or that a database restored to an
 * earlier time has lost. Keep the cursor in the same database as your records: after a restore it fits them.
 */
import { UnknownRecord, type NotificationReceiver } from './notification-receiver.js';
import { parseNotification, type NotificationRequest } from './notification-request.js';

export interface FeedOptions {
  /** Of the service, without `/accounts`. */
  baseUrl: string;
  accountCode: string;
  /** A live access token with the scope `read`; asked for before every page. */
  accessToken: () => Promise<string>;
  /** Where the last catch-up ended; none: the beginning of what is kept; `now`: only what comes from here on. */
  cursor?: string;
  /** Called after each page whose notifications are taken. */
  keepCursor?: (cursor: string) => Promise<void>;
  /** Told of what your work does not know (`UnknownRecord`); the rest goes on. */
  onUnknown?: (notification: NotificationRequest) => void;
  signal?: AbortSignal;
}

/** The feed was not answered with 200. With `code` `cursor_expired`, begin again without a cursor. */
export class FeedUnavailable extends Error {
  override readonly name = 'FeedUnavailable';

  constructor(
    readonly status: number,
    readonly code: string | null,
  ) {
    super(`The change feed answered ${status}${code === null ? '' : ` ${code}`}.`);
  }
}

interface Entry {
  notification: NotificationRequest | null;
  event_sequence: number | null;
}

/**
 * Takes everything up to the end of the feed, with the same store as the pushes: what is known is passed over.
 * @returns the cursor from which the next catch-up goes on
 * @throws FeedUnavailable
 */
export async function catchUp<Transaction>(
  receiver: NotificationReceiver<Transaction>,
  { baseUrl, accountCode, accessToken, cursor, keepCursor, onUnknown, signal }: FeedOptions,
): Promise<string> {
  const feed = `${baseUrl.replace(/\/+$/, '')}/accounts/${encodeURIComponent(accountCode)}/changes`;
  let after = cursor;
  for (;;) {
    const query = new URLSearchParams({ limit: '200', ...(after === undefined ? {} : { after }) });
    const response = await fetch(`${feed}?${query.toString()}`, {
      headers: { authorization: `Bearer ${await accessToken()}` },
      signal: signal ?? null,
    });
    if (response.status !== 200) throw new FeedUnavailable(response.status, codeOf(await response.text()));
    const entries = (await response.json()) as Entry[];
    for (const { notification, event_sequence: sequence } of entries)
      if (notification !== null && sequence !== null)
        try {
          await receiver.take({ id: null, sequence, notification: parseNotification(notification) });
        } catch (error) {
          if (!(error instanceof UnknownRecord)) throw error;
          onUnknown?.(notification);
        }
    after = nextOf(response.headers.get('link'));
    await keepCursor?.(after);
    if (entries.length === 0) return after;
  }
}

function nextOf(link: string | null): string {
  const [, address] = /<([^>]*)>;\s*rel="next"/.exec(link ?? '') ?? [];
  const after = address === undefined ? null : new URL(address, 'http://localhost').searchParams.get('after');
  if (after === null) throw new FeedUnavailable(200, 'link_missing');
  return after;
}

function codeOf(text: string): string | null {
  try {
    const { code } = JSON.parse(text) as { code?: unknown };
    return typeof code === 'string' ? code : null;
  } catch {
    return null;
  }
}
