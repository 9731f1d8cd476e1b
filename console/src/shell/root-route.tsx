import { createRootRoute } from '@tanstack/react-router';
import { NotFound } from './not-found';
import { Shell } from './shell';

/** The route of the shell around every page; the areas add their routes to it. */
export const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFound });
