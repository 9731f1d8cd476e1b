import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';

export const setupRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup',
    component: lazyRouteComponent(() => import('./setup-page'), 'SetupPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/accounts/$account',
    component: lazyRouteComponent(() => import('./account-page'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/accounts/$account/$kind',
    component: lazyRouteComponent(() => import('./catalogue-page'), 'CataloguePage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/users',
    component: lazyRouteComponent(() => import('./users-page'), 'UsersPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/applications',
    component: lazyRouteComponent(() => import('./applications-page'), 'ApplicationsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/alerts',
    component: lazyRouteComponent(() => import('./alerts-page'), 'AlertsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/connect-client',
    validateSearch: only('user', 'application', 'step'),
    component: lazyRouteComponent(() => import('./connect-client-page'), 'ConnectClientPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/connect-partner',
    validateSearch: only('subscription', 'step'),
    component: lazyRouteComponent(() => import('./connect-partner-page'), 'ConnectPartnerPage'),
  }),
] as const;
