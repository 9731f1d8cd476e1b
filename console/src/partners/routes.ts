import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';

export const partnersRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/partners',
    validateSearch: only('account_code'),
    component: lazyRouteComponent(() => import('./partners-page'), 'PartnersPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/partners/$id',
    validateSearch: only('from', 'to', 'booking_code', 'change_reason'),
    component: lazyRouteComponent(() => import('./partner-page'), 'PartnerPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/partners/$id/settings',
    component: lazyRouteComponent(() => import('./partner-settings-page'), 'PartnerSettingsPage'),
  }),
] as const;
