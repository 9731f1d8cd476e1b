import type { operations } from '../../../clients/typescript/src/openapi';
import type { Search } from '../router-search';

type Query = NonNullable<operations['listNotifications']['parameters']['query']>;

/** Filters of the address as the API wants them: it checks them itself, and says what is wrong with one. */
export function notificationQuery(search: Search): Query {
  const { http_status: status, ...rest } = search;
  return { ...(rest as Query), ...(status === undefined ? {} : { http_status: Number(status) }) };
}
