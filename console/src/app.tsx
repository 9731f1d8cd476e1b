import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { startTransition, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './queries';
import { router } from './router';
import { SessionGate } from './shell/session-gate';

export function start(container: HTMLElement): void {
  // The browser starts to load the code of the current page before the first render.
  for (const { routeId } of router.matchRoutes(router.latestLocation) as { routeId: keyof typeof router.routesById }[])
    router.loadRouteChunk(router.routesById[routeId])?.catch(() => undefined);
  const root = createRoot(container);
  // Inside a transition, React renders in small steps, so that a slow phone stays responsive.
  startTransition(() =>
    root.render(
      <StrictMode>
        <QueryClientProvider client={queries}>
          <SessionGate>
            <RouterProvider router={router} />
          </SessionGate>
        </QueryClientProvider>
      </StrictMode>,
    ),
  );
}
