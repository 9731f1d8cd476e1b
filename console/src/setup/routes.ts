import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';

const ADMIN_ONLY = { adminOnly: true };

export const setupRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup',
    staticData: ADMIN_ONLY,
    component: lazyRouteComponent(() => import('./setup-page'), 'SetupPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/accounts/$account',
    staticData: ADMIN_ONLY,
    component: lazyRouteComponent(() => import('./account-page'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/accounts/$account/$kind',
    staticData: ADMIN_ONLY,
    component: lazyRouteComponent(() => import('./catalogue-page'), 'CataloguePage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/users',
    staticData: ADMIN_ONLY,
    component: lazyRouteComponent(() => import('./users-page'), 'UsersPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/applications',
    staticData: ADMIN_ONLY,
    component: lazyRouteComponent(() => import('./applications-page'), 'ApplicationsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/alerts',
    staticData: ADMIN_ONLY,
    component: lazyRouteComponent(() => import('./alerts-page'), 'AlertsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/connect-client',
    staticData: ADMIN_ONLY,
    validateSearch: only('user', 'application', 'step'),
    component: lazyRouteComponent(() => import('./connect-client-page'), 'ConnectClientPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/setup/connect-partner',
    staticData: ADMIN_ONLY,
    validateSearch: only('subscription', 'step'),
    component: lazyRouteComponent(() => import('./connect-partner-page'), 'ConnectPartnerPage'),
  }),
] as const;
