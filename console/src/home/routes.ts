import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { queries } from '../queries';
import { rootRoute } from '../shell/root-route';
import { overviewQuery } from './overview-query';

export const homeRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/',
    // Prefetches the data without waiting for it, when somebody is about to open the page.
    loader: () => void queries.prefetchQuery(overviewQuery),
    component: lazyRouteComponent(() => import('./home-page'), 'HomePage'),
  }),
] as const;
