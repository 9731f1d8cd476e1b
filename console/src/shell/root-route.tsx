import { createRootRoute } from '@tanstack/react-router';
import { NotFound } from './not-found';
import { Shell } from './shell';

/** The shell around every page; the areas hang their routes on it. */
export const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFound });
