import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { queries } from '../queries';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';
import { statisticsQuery, subscriptionQuery } from './partner-queries';

export const partnersRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/partners',
    validateSearch: only('account_code', 'failing'),
    component: lazyRouteComponent(() => import('./partners-page'), 'PartnersPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/partners/$id',
    validateSearch: only('from', 'to', 'booking_code', 'change_reason'),
    // The page's data starts to load before the page is rendered. The router does not wait for the data.
    loader: ({ params: { id } }) => {
      void queries.prefetchQuery(subscriptionQuery(id));
      void queries.prefetchQuery(statisticsQuery(id));
    },
    component: lazyRouteComponent(() => import('./partner-page'), 'PartnerPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/partners/$id/settings',
    validateSearch: only('next'),
    staticData: { adminOnly: true },
    component: lazyRouteComponent(() => import('./partner-settings-page'), 'PartnerSettingsPage'),
  }),
] as const;
