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
  // Removes query parameters that a page does not read, because the API would refuse them.
  search: { strict: true },
  scrollRestoration: true,
  // A list with an item beside it has the scroll position of the list alone, so that the list stays where it is.
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
    /** Whether only operators with the scope `admin` can use the page. Other users see an explanation instead. */
    adminOnly?: boolean;
  }
  interface HistoryState {
    /** The key of the history's entry that shows the list alone, while one of its items is open beside it. */
    listEntry?: string;
  }
}
