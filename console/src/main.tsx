import './style/base.css';
import './style/shell.css';
import './style/page.css';
import './style/state.css';
import './style/button.css';
import './style/table.css';
import './style/form.css';
import './style/overlay.css';
import './style/chart.css';
import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isPassing } from './api/problem';
import { loadSession } from './api/session';
import { toast } from './components/toast';
import { router } from './router';
import { SessionGate } from './shell/session-gate';
import { applyTheme } from './shell/theme';

applyTheme();
void loadSession();

const queries = new QueryClient({
  mutationCache: new MutationCache({ onError: (error) => toast(error.message, 'bad') }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Long enough that "back" finds the list as it was, and its place in it.
      gcTime: 15 * 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && isPassing(error),
    },
  },
});

createRoot(document.getElementById('console')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate>
        <RouterProvider router={router} />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
