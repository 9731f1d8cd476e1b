import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';

export const candidatesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/candidates',
    validateSearch: only('q', 'account_code'),
    component: lazyRouteComponent(() => import('./candidates-page'), 'CandidatesPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/candidates/$account/$candidate',
    component: lazyRouteComponent(() => import('./candidate-page'), 'CandidatePage'),
  }),
] as const;
