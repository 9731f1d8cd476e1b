import { createRouter } from '@tanstack/react-router';
import { CONSOLE_PATH } from './api/root';
import { Loading, ProblemNote } from './components/states';
import { auditRoutes } from './audit/routes';
import { candidatesRoutes } from './candidates/routes';
import { homeRoutes } from './home/routes';
import { notificationRoutes } from './notification/routes';
import { partnersRoutes } from './partners/routes';
import { queueRoutes } from './queue/routes';
import { ownRoutes } from './own/routes';
import { parseSearch, stringifySearch } from './router-search';
import { setupRoutes } from './setup/routes';
import { workRoutes } from './work/routes';
import { rootRoute } from './shell/root-route';

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    ...homeRoutes,
    ...ownRoutes,
    ...queueRoutes,
    ...notificationRoutes,
    ...partnersRoutes,
    ...candidatesRoutes,
    ...workRoutes,
    ...setupRoutes,
    ...auditRoutes,
  ]),
  basepath: CONSOLE_PATH,
  parseSearch,
  stringifySearch,
  // The router removes query parameters that the page does not read, because the API would refuse them.
  search: { strict: true },
  scrollRestoration: true,
  // When an item opens beside a list, the router keeps the scroll position of the list, so that the list does not move.
  getScrollRestorationKey: ({ state, href }) => state.listEntry ?? state.__TSR_key ?? href,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <ProblemNote error={error} retry={reset} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
  interface StaticDataRouteOption {
    /** Whether only operators with the `admin` scope can use the page. Other users see an explanation instead. */
    adminOnly?: boolean;
  }
  interface HistoryState {
    /**
     * The key of the history entry that shows the list without an item. It is set while an item is open beside the
     * list.
     */
    listEntry?: string;
  }
}
