import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { queries } from '../queries';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';
import { ownSubscriptionQuery } from './own-queries';

export const ownRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/own',
    component: lazyRouteComponent(() => import('./own-home-page'), 'OwnHomePage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/own/$id',
    validateSearch: only('job'),
    // The page's data starts to load before the page is rendered. The router does not wait for the data.
    loader: ({ params: { id } }) => void queries.prefetchQuery(ownSubscriptionQuery(id)),
    component: lazyRouteComponent(() => import('./own-subscription-page'), 'OwnSubscriptionPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/own/notifications',
    validateSearch: only(
      'subscription_id',
      'state',
      'change_reason',
      'failure',
      'from',
      'to',
      'booking_code',
      'candidate_id',
    ),
    component: lazyRouteComponent(() => import('./own-notifications-page'), 'OwnNotificationsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/own/notifications/$id',
    component: lazyRouteComponent(() => import('./own-notification-page'), 'OwnNotificationPage'),
  }),
] as const;
