import { lazy, Suspense, type ReactNode } from 'react';
import { loadSession, pathToReturnTo, sessionState } from '../api/session';
import { useStore } from '../api/store';
import { Loading, ProblemNote } from '../components/states';
import { SignInForm } from './sign-in';

export const loadExpiredSession = async () => ({ default: (await import('./expired-session')).ExpiredSession });
const ExpiredSession = lazy(loadExpiredSession);

/**
 * Shows the console to who is signed in, and else the sign-in at the address that was asked for. A session that ends in
 * between leaves the page as it is, with the sign-in over it.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const state = useStore(sessionState);
  switch (state.kind) {
    case 'unknown':
      return <Loading what="Starting" />;
    case 'unreachable':
      return (
        <main className="sign-in">
          <ProblemNote
            error={state.error}
            retry={() => {
              sessionState.set({ kind: 'unknown' });
              void loadSession();
            }}
          />
        </main>
      );
    case 'out':
      return (
        <main className="sign-in">
          <h1>Sign in</h1>
          <SignInForm ways={state.ways} />
        </main>
      );
    case 'in':
      returnToWhereTheSignInBegan();
      return children;
    case 'expired':
      return (
        <>
          {children}
          <Suspense>
            <ExpiredSession ways={state.ways} username={state.session.username} />
          </Suspense>
        </>
      );
  }
}

function returnToWhereTheSignInBegan(): void {
  const path = pathToReturnTo();
  if (path !== null) history.replaceState(null, '', path);
}
