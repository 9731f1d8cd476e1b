import { api, pageOf, type Schemas } from '../api/client';
import type { ListSource } from '../api/list-query';
import { notificationQuery } from '../notification/notification-query';
import type { Search } from '../router-search';

/** Builds the list of error queue rows that match the filters of an address. */
export function queuedList(search: Search): ListSource<Schemas['NotificationModel']> {
  return {
    queryKey: ['error-queue', 'list', search],
    load: (cursor, signal) =>
      pageOf(
        api.GET('/admin/error-queue', {
          params: { query: { ...notificationQuery(search), cursor, limit: 50 } },
          signal,
        }),
      ),
  };
}
