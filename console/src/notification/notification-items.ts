import type { Schemas } from '../api/client';
import type { Items } from '../components/items';
import { later } from '../components/later';

/** The notifications of a list. A notification opens beside the list. */
export const NOTIFICATION_ITEMS: Items<Schemas['NotificationModel']> = {
  idOf: ({ id }) => id,
  pageOf: (id) => ({ to: '/notifications/$id', params: { id } }),
  load: later(async () => (await import('./notification-page')).NotificationItem),
};
