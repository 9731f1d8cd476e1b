import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';

export const workRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/work',
    beforeLoad: () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router handles a thrown redirect
      throw redirect({ to: '/work/approvals', search: {}, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/work/approvals',
    validateSearch: only('account_code', 'open'),
    component: lazyRouteComponent(() => import('./waiting-page'), 'ApprovalsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/work/holds',
    validateSearch: only('account_code', 'open'),
    component: lazyRouteComponent(() => import('./waiting-page'), 'HoldsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/work/unmatched',
    validateSearch: only('open'),
    component: lazyRouteComponent(() => import('./unmatched-page'), 'UnmatchedPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/work/unmatched/$id',
    component: lazyRouteComponent(() => import('./unmatched-result-page'), 'UnmatchedResultPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/work/imports',
    validateSearch: only('account_code', 'state', 'open'),
    component: lazyRouteComponent(() => import('./imports-page'), 'ImportsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/work/imports/$account/$id',
    component: lazyRouteComponent(() => import('./import-page'), 'ImportPage'),
  }),
] as const;
