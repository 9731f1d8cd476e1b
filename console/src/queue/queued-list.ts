import { api, pageOf, type Schemas } from '../api/client';
import type { ListSource } from '../api/list-query';
import { notificationQuery } from '../notification/notification-query';
import type { Search } from '../router-search';

/** Returns the source of the list of notifications in the error queue that match the filters in the page's address. */
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
