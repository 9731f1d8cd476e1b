import { Link, Outlet, useRouter, useRouterState } from '@tanstack/react-router';
import { useEffect, useState, type ComponentType } from 'react';
import { areasFor } from '../areas';
import { sessionState, type Session } from '../api/session';
import { useStore } from '../api/store';
import { Button } from '../components/button';
import { Confirmation, loadConfirmDialog } from '../components/confirm';
import { toast, Toasts } from '../components/toast';
import type { PaletteProps } from './command-palette';
import { isTyping, useKeys } from './keys';
import { loadExpiredSession } from './session-gate';
import { UserMenu } from './user-menu';

/** Not by `lazy`: React lets a third of a second pass before it shows what was awaited. */
const loadPalette = async () => (await import('./command-palette')).CommandPalette;

export function Shell() {
  const state = useStore(sessionState);
  return 'session' in state ? <SignedInShell session={state.session} /> : null;
}

function SignedInShell({ session }: { session: Session }) {
  const [Palette, setPalette] = useState<ComponentType<PaletteProps> | null>(null);
  const openPalette = () =>
    void loadPalette().then(
      (found) => setPalette(() => found),
      (error: Error) => toast(`It could not be loaded: ${error.message}`, 'bad'),
    );
  const [isMenuOpen, openMenu] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => openMenu(false), [path]);
  useRestLoaded();
  useKeys({
    'mod+k': openPalette,
    '/': (event) => {
      if (isTyping(event)) return false;
      const field = document.querySelector<HTMLElement>('main [data-search] input');
      if (field) field.focus();
      else openPalette();
      return true;
    },
  });
  return (
    <div className="shell">
      <a className="skip" href="#main">
        To the content
      </a>
      <header className="banner">
        <div className="bar">
          <Link to="/" className="product">
            Console
          </Link>
          <Button kind="quiet" onPress={openPalette} aria-keyshortcuts="Control+K /">
            Find or go to …
          </Button>
          <span className="menu-button">
            <Button kind="quiet" aria-expanded={isMenuOpen} aria-controls="areas" onPress={() => openMenu(!isMenuOpen)}>
              Menu
            </Button>
          </span>
        </div>
        <div id="areas" className={isMenuOpen ? 'areas open' : 'areas'}>
          <nav aria-label="Areas">
            <ul>
              {areasFor(session)
                .filter(({ paletteOnly }) => !paletteOnly)
                .map(({ label, target }) => (
                  <li key={label}>
                    <Link
                      {...target}
                      activeOptions={{ exact: target.to === '/', includeSearch: false }}
                      activeProps={{ 'aria-current': 'page' }}
                    >
                      {label}
                    </Link>
                  </li>
                ))}
            </ul>
          </nav>
          <UserMenu session={session} />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
      <Toasts />
      <Confirmation />
      {Palette && <Palette session={session} onClose={() => setPalette(null)} />}
    </div>
  );
}

/** Long enough for the first page and what it asks for. */
const REST_AFTER_MS = 2000;

/** Once the first page is there, and nothing else is to be done, the other pages are loaded: none of them is waited for. */
function useRestLoaded(): void {
  const router = useRouter();
  useEffect(() => {
    const load = () => {
      const parts = [loadPalette(), loadConfirmDialog(), loadExpiredSession(), import('../components/columns-menu')];
      const loading = [...parts, ...Object.values(router.routesById).map((route) => router.loadRouteChunk(route))];
      // What cannot be loaded is told when it is opened.
      for (const part of loading) part?.catch(() => undefined);
    };
    // Safari has no idle callbacks.
    const whenIdle = () => ('requestIdleCallback' in window ? requestIdleCallback(load) : load());
    const timer = setTimeout(whenIdle, REST_AFTER_MS);
    return () => clearTimeout(timer);
  }, [router]);
}
