import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';

export const notificationRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/notifications',
    validateSearch: only(
      'account_code',
      'subscription_id',
      'state',
      'change_reason',
      'failure',
      'from',
      'to',
      'booking_code',
      'candidate_id',
      'exam_in',
      'open',
    ),
    component: lazyRouteComponent(() => import('./notifications-page'), 'NotificationsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/notifications/$id',
    component: lazyRouteComponent(() => import('./notification-page'), 'NotificationPage'),
  }),
] as const;
