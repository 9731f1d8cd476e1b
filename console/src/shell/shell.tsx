import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { areasFor } from '../areas';
import { sessionState, type Session } from '../api/session';
import { useStore } from '../api/store';
import { Button } from '../components/button';
import { Confirmation } from '../components/confirm';
import { Toasts } from '../components/toast';
import { isTyping, useKeys } from './keys';
import { UserMenu } from './user-menu';

const CommandPalette = lazy(() => import('./command-palette'));

export function Shell() {
  const state = useStore(sessionState);
  return 'session' in state ? <SignedInShell session={state.session} /> : null;
}

function SignedInShell({ session }: { session: Session }) {
  const [isPaletteOpen, openPalette] = useState(false);
  const [isMenuOpen, openMenu] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => openMenu(false), [path]);
  useKeys({
    'mod+k': () => openPalette(true),
    '/': (event) => {
      if (isTyping(event)) return false;
      const field = document.querySelector<HTMLElement>('main [data-search] input');
      if (field) field.focus();
      else openPalette(true);
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
          <Button kind="quiet" onPress={() => openPalette(true)} aria-keyshortcuts="Control+K /">
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
      {isPaletteOpen && (
        <Suspense>
          <CommandPalette session={session} onClose={() => openPalette(false)} />
        </Suspense>
      )}
    </div>
  );
}
