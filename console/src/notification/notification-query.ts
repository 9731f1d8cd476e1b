import type { operations } from '../../../clients/typescript/src/openapi';
import type { Search } from '../router-search';

type Query = NonNullable<operations['listNotifications']['parameters']['query']>;

/** Converts the filters in the page's address to query parameters of the API, which validates them. */
export function notificationQuery(search: Search): Query {
  const { http_status: status, ...rest } = search;
  return { ...(rest as Query), ...(status === undefined ? {} : { http_status: Number(status) }) };
}
