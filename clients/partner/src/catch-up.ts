/**
 * Reads missed changes from the account's change feed. You miss changes while your receiver is offline, and when you
 * restore an older backup of your database. Store the cursor in the same database as your records. After a restore, the
 * cursor then still matches the records.
 */
import { UnknownRecord, type NotificationReceiver } from './notification-receiver.js';
import { parseNotification, type NotificationRequest } from './notification-request.js';

export interface FeedOptions {
  /** The service's base URL, without `/accounts`. */
  baseUrl: string;
  accountCode: string;
  /** Returns a valid access token with the `read` scope. It is called before each page is read. */
  accessToken: () => Promise<string>;
  /**
   * The cursor that the last catch-up returned. If it is omitted, reading starts at the oldest entry that the service
   * keeps. With `now`, only later changes are read.
   */
  cursor?: string;
  /** Called with the cursor that continues after a page, when the notifications of this page have been processed. */
  keepCursor?: (cursor: string) => Promise<void>;
  /**
   * Called for a notification about a candidate or an exam that your function `work` does not know (`UnknownRecord`);
   * the catch-up then continues.
   */
  onUnknown?: (notification: NotificationRequest) => void;
  signal?: AbortSignal;
}

/**
 * Thrown when the change feed did not respond with 200. If `code` is `cursor_expired`, start again without a cursor.
 */
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
 * Processes all notifications up to the end of the feed, and returns the cursor for the next catch-up. The receiver
 * skips notifications that it has already processed.
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
