import { Link, Outlet, useMatches, useRouter, useRouterState } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useState } from 'react';
import { areasFor } from '../areas';
import { sessionState, type Session } from '../api/session';
import { isPartner } from '../own/partner-session';
import { useStore } from '../api/store';
import { Button } from '../components/button';
import { Confirmation } from '../components/confirm';
import { later, loadParts, useLater } from '../components/later';
import { Toasts } from '../components/toast';
import { isTyping, useKeys } from '../components/keys';
import { AdminOnly } from './admin-only';
import { NotLive } from './not-live';
import { PRODUCT } from '../components/product';
import { UserMenu } from './user-menu';

const keysDialog = later(async () => (await import('./keys-dialog')).KeysDialog);
const palette = later(async () => (await import('./command-palette')).CommandPalette);

export function Shell() {
  const state = useStore(sessionState);
  return 'session' in state ? <SignedInShell session={state.session} /> : null;
}

function SignedInShell({ session }: { session: Session }) {
  const { Part: Palette, open: openPalette, close: closePalette } = useLater(palette);
  const { Part: Keys, open: openKeys, close: closeKeys } = useLater(keysDialog);
  const [isMenuOpen, openMenu] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => openMenu(false), [path]);
  const isAdminOnly = useMatches({ select: (matches) => matches.some(({ staticData }) => staticData.adminOnly) });
  const ofPartner = isPartner(session);
  // The page is drawn after the navigation, in small steps, so that a slow phone stays responsive.
  const isPageDrawn = useDeferredValue(true, false);
  useRestLoaded();
  useKeys({
    // The command palette is only for operators, because it finds candidates and partners.
    'mod+k': () => (ofPartner ? false : openPalette()),
    '?': (event) => {
      if (isTyping(event)) return false;
      openKeys();
      return true;
    },
    '/': (event) => {
      if (isTyping(event)) return false;
      const field = document.querySelector<HTMLElement>('main [data-search] input');
      if (field) field.focus();
      else if (ofPartner) return false;
      else openPalette();
      return true;
    },
  });
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="banner">
        <div className="bar">
          <Link to="/" className="brand">
            {PRODUCT}
          </Link>
          {!ofPartner && (
            <Button onPress={openPalette} aria-keyshortcuts="Control+K /">
              Search or go to …
            </Button>
          )}
          <span className="menu-button">
            <Button aria-expanded={isMenuOpen} aria-controls="areas" onPress={() => openMenu(!isMenuOpen)}>
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
                      activeOptions={{ exact: target.to === '/' || target.to === '/own', includeSearch: false }}
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
        {isAdminOnly && !session.scopes.includes('admin') ? <AdminOnly /> : isPageDrawn && <Outlet />}
        <NotLive />
      </main>
      <Toasts />
      <Confirmation />
      {Palette && <Palette session={session} onClose={closePalette} />}
      {Keys && <Keys onClose={closeKeys} />}
    </div>
  );
}

/**
 * The delay, in milliseconds, before other pages are loaded in the background. The first page and its requests usually
 * need less time.
 */
const REST_AFTER_MS = 2000;

/** Loads the code of the other pages in the background, as soon as the first page is shown and the browser is idle. */
function useRestLoaded(): void {
  const router = useRouter();
  useEffect(() => {
    const load = async () => {
      // The pages are loaded one after another, so that a slow phone stays responsive. If a page fails to load, the
      // user sees the error when opening the page.
      for (const route of Object.values(router.routesById)) await router.loadRouteChunk(route)?.catch(() => undefined);
      // The loaded pages have registered further components, such as dialogs, which are loaded now.
      await loadParts();
    };
    // Safari does not support requestIdleCallback. In Safari, loading begins immediately after the delay.
    const whenIdle = () => ('requestIdleCallback' in window ? requestIdleCallback(() => void load()) : void load());
    const timer = setTimeout(whenIdle, REST_AFTER_MS);
    return () => clearTimeout(timer);
  }, [router]);
}
