import { createRootRoute, redirect } from '@tanstack/react-router';
import { isPartnerSignedIn } from '../own/partner-session';
import { NotFound } from './not-found';
import { Shell } from './shell';

/**
 * The root route, which renders the navigation around every page. The areas add their routes to it. A partner that
 * opens a page for operators is redirected to its own pages.
 */
export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  beforeLoad: ({ location: { pathname } }) => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router handles a thrown redirect
    if (isPartnerSignedIn() && !/^\/own(\/|$)/.test(pathname)) throw redirect({ to: '/own' });
  },
});
