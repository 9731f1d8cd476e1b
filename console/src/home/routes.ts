import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { queries } from '../queries';
import { rootRoute } from '../shell/root-route';
import { overviewQuery } from './overview-query';

export const homeRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/',
    // The page's data starts to load when the user is about to open the page. The router does not wait for the data.
    loader: () => void queries.prefetchQuery(overviewQuery),
    component: lazyRouteComponent(() => import('./home-page'), 'HomePage'),
  }),
] as const;
