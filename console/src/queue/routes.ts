import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { listQuery } from '../api/list-query';
import { queries } from '../queries';
import { only, type Search } from '../router-search';
import { rootRoute } from '../shell/root-route';
import { causesQuery } from './causes-query';
import { queuedList } from './queued-list';

export const queueRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue',
    validateSearch: only('account_code', 'subscription_id', 'retry'),
    // The page's data starts to load when the user is about to open the page. The router does not wait for the data.
    loader: () => void queries.prefetchQuery(causesQuery),
    component: lazyRouteComponent(() => import('./causes-page'), 'CausesPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/queue/notifications',
    validateSearch: only(
      'account_code',
      'subscription_id',
      'change_reason',
      'failure',
      'reason',
      'http_status',
      'retry',
      'from',
      'to',
      'booking_code',
      'candidate_id',
      'open',
    ),
    loaderDeps: ({ search }) => {
      const { open, ...filters }: Search = search;
      return filters;
    },
    loader: ({ deps }) => void queries.prefetchInfiniteQuery(listQuery(queuedList(deps))),
    component: lazyRouteComponent(() => import('./queued-page'), 'QueuedPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/jobs',
    validateSearch: only('kind', 'state', 'account_code', 'subscription_id'),
    component: lazyRouteComponent(() => import('./jobs-page'), 'JobsPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/jobs/$jobId',
    validateSearch: only('outcome'),
    component: lazyRouteComponent(() => import('./job-page'), 'JobPage'),
  }),
] as const;
