import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { queries } from '../queries';
import { rootRoute } from '../shell/root-route';
import { overviewQuery } from './overview-query';

export const homeRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/',
    // Starts to load the page's data when the user is about to open the page, without waiting for the data.
    loader: () => void queries.prefetchQuery(overviewQuery),
    component: lazyRouteComponent(() => import('./home-page'), 'HomePage'),
  }),
] as const;
