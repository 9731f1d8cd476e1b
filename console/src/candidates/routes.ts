import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { queries } from '../queries';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';
import { candidateQueries } from './candidate-queries';

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
    // The page's data starts to load before the page is rendered. The router does not wait for the data.
    loader: ({ params: { account, candidate } }) => {
      const parts = candidateQueries({ account_code: account, candidate_id: candidate });
      void queries.prefetchQuery(parts.records);
      void queries.prefetchQuery(parts.results);
    },
    component: lazyRouteComponent(() => import('./candidate-page'), 'CandidatePage'),
  }),
] as const;
