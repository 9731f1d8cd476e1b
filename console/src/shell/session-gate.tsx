import { useEffect, type ReactNode } from 'react';
import { loadSession, pathToReturnTo, sessionState, type SignInWays } from '../api/session';
import { useStore } from '../api/store';
import { later, useLater } from '../components/later';
import { ProblemNote } from '../components/states';
import { PRODUCT } from '../components/product';
import { SignInForm } from './sign-in';

const expiredSession = later(async () => (await import('./expired-session')).ExpiredSession);

/**
 * Shows the console to a signed-in user. To other visitors, it shows the sign-in form at the requested address. When
 * the session expires, the current page stays visible, and the sign-in form appears over it.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const state = useStore(sessionState);
  switch (state.kind) {
    case 'unknown':
      return <Splash />;
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
          <p className="brand">
            {PRODUCT} <small>Console</small>
          </p>
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
          <Expired ways={state.ways} username={state.session.username} />
        </>
      );
  }
}

/** Shows the content that index.html shows until the scripts have loaded. */
function Splash() {
  return (
    <p className="brand splash" role="status" aria-label={`${PRODUCT} is starting`}>
      {PRODUCT}
    </p>
  );
}

function Expired(props: { ways: SignInWays; username: string }) {
  const { Part, open } = useLater(expiredSession);
  useEffect(open, [open]);
  return Part && <Part {...props} />;
}

function returnToWhereTheSignInBegan(): void {
  const path = pathToReturnTo();
  if (path !== null) history.replaceState(null, '', path);
}
