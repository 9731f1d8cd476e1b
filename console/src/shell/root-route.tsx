import { createRootRoute } from '@tanstack/react-router';
import { NotFound } from './not-found';
import { Shell } from './shell';

/** The root route, which renders the navigation around every page. The areas add their routes to it. */
export const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFound });
