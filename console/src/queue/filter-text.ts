import type { Schemas } from '../api/client';
import type { Search } from '../router-search';
import { notifiedText, retryText } from '../notification/words';
import { failureText, reasonText } from '../components/failure-text';
import { local } from '../components/time-text';

export type QueueFilter = Schemas['NotificationFilter'];

/** Converts the filter in a page's address to the filter object that the bulk actions of the API expect. */
export function filterOf({ http_status: status, ...search }: Search): QueueFilter {
  return { ...(search as QueueFilter), ...(status === undefined ? {} : { http_status: Number(status) }) };
}

/**
 * Returns the query parameters of the page that lists the notifications with one cause of failure. A missing failure or
 * reason is sent as `none`. Without `none`, the page would also list notifications that have a failure or reason, and
 * the operator could resend them by mistake.
 */
export function searchOf(cause: Schemas['CauseModel']) {
  return {
    subscription_id: cause.subscription_id,
    failure: cause.failure ?? 'none',
    reason: cause.reason ?? 'none',
    retry: cause.retry,
    ...(cause.http_status == null ? {} : { http_status: String(cause.http_status) }),
  };
}

/** Describes in words which rows a filter selects. The console shows the text before an action on all these rows. */
export function filterTexts(filter: QueueFilter): (readonly [string, string])[] {
  const entries: (readonly [string, string | null | undefined])[] = [
    ['Account', filter.account_code],
    ['Partner', filter.subscription_id],
    ['Event', filter.change_reason && notifiedText(filter.change_reason)],
    ['Failure', filter.failure && failureText(filter.failure === 'none' ? null : filter.failure)],
    ['Cause', filter.reason === 'none' ? 'none given' : filter.reason && reasonText(filter.reason)],
    ['HTTP status', filter.http_status?.toString()],
    ['Retry', filter.retry && retryText(filter.retry)],
    ['Booking', filter.booking_code],
    ['Candidate', filter.candidate_id],
    ['Created from', filter.from && local(new Date(filter.from))],
    ['Created before', filter.to && local(new Date(filter.to))],
  ];
  return entries.filter((entry): entry is [string, string] => Boolean(entry[1]));
}
