import './style/base.css';
import './style/shell.css';
import './style/page.css';
import './style/state.css';
import './style/button.css';
import './style/table.css';
import './style/form.css';
import './style/overlay.css';
import './style/chart.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { loadSession } from './api/session';
import { queries } from './queries';
import { router } from './router';
import { SessionGate } from './shell/session-gate';
import { applyTheme } from './shell/theme';

applyTheme();
void loadSession();
// The part of the program that this address needs comes while the service says who is signed in.
for (const { routeId } of router.matchRoutes(router.latestLocation) as { routeId: keyof typeof router.routesById }[])
  router.loadRouteChunk(router.routesById[routeId])?.catch(() => undefined);

createRoot(document.getElementById('console')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate>
        <RouterProvider router={router} />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
