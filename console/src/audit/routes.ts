import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { only } from '../router-search';
import { rootRoute } from '../shell/root-route';

export const auditRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/audit',
    validateSearch: only('actor', 'action', 'subject', 'account_code', 'from', 'to'),
    component: lazyRouteComponent(() => import('./audit-page'), 'AuditPage'),
  }),
] as const;
