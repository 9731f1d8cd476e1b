// Knows the user who is signed in. The session itself is a cookie that no script reads; the page learns about it from its own calls.
//
// 1. At the start the service says who is signed in. Nobody: the sign-in page, at the address that was asked for.
// 2. A call that is refused with 401 waits here; over the page, which keeps what was typed, a dialog asks for a sign-in.
// 3. After it the call is repeated, once. Another user than before gets a new page.
import type { components } from '../../../clients/typescript/src/openapi';
import { ProblemError } from './problem';
import { CONSOLE_PATH, ROOT } from './root';
import { Store, useStore } from './store';

export type Session = components['schemas']['SessionModel'];
export type SignInWays = components['schemas']['SignInWays'];

type State =
  | { kind: 'unknown' }
  | { kind: 'unreachable'; error: unknown }
  | { kind: 'out'; ways: SignInWays }
  | { kind: 'in'; session: Session; ways: SignInWays }
  | { kind: 'expired'; session: Session; ways: SignInWays };

export const sessionState = new Store<State>({ kind: 'unknown' });

/** The rights of the operator. They are kept while a session that ended waits for them to sign in again. */
export function useScopes(): readonly string[] {
  const state = useStore(sessionState);
  return 'session' in state ? state.session.scopes : [];
}

/** Which no page of another site can send. */
export const FROM_CONSOLE = { 'Console-Request': '1' };
const RETURN_TO = 'console-return-to';

let waiting: (() => void)[] = [];

/** Asks who is signed in, and lets the calls go on that wait for it. */
export async function loadSession(): Promise<void> {
  try {
    const { session, sign_in: ways } = (await (
      await call('GET', 'session')
    ).json()) as components['schemas']['SessionState'];
    if (session === null) {
      if (sessionState.get().kind !== 'expired') sessionState.set({ kind: 'out', ways });
      return;
    }
    const before = sessionState.get();
    if ('session' in before && before.session.username !== session.username) return location.reload();
    sessionState.set({ kind: 'in', session, ways });
    const released = waiting;
    waiting = [];
    for (const release of released) release();
  } catch (error) {
    if (sessionState.get().kind === 'unknown') sessionState.set({ kind: 'unreachable', error });
    else throw error;
  }
}

/** @throws ProblemError */
export async function signIn(username: string, password: string): Promise<void> {
  await call('POST', 'session', { username, password });
  await loadSession();
}

/** Ends the session here, or all of the user's, and shows nothing more. */
export async function signOut(everywhere: boolean): Promise<void> {
  await call('DELETE', everywhere ? 'sessions' : 'session');
  location.assign(CONSOLE_PATH);
}

/** Ends the session here, and leads on to where the browser's own at the identity provider ends, if there is such a place. */
export async function signOutAtOrganisation(): Promise<void> {
  const answer = await call('DELETE', 'session?organisation=true');
  const { organisation } = (await answer.json()) as components['schemas']['SignedOut'];
  location.assign(organisation ?? CONSOLE_PATH);
}

/** Leaves for the identity provider, which leads back to the console; {@link pathToReturnTo} says where to go on. */
export function signInAtOrganisation(): void {
  sessionStorage.setItem(RETURN_TO, location.pathname + location.search);
  location.assign(`${CONSOLE_PATH}/sign-in`);
}

export function pathToReturnTo(): string | null {
  const path = sessionStorage.getItem(RETURN_TO);
  sessionStorage.removeItem(RETURN_TO);
  return path?.startsWith(`${CONSOLE_PATH}/`) ? path : null;
}

/** `fetch` with the session: a call without one waits for a sign-in. */
export async function sessionFetch(request: Request): Promise<Response> {
  const again = request.clone();
  let response = await reach(request);
  if (response.status === 401) {
    await signedInAgain();
    response = await reach(again);
  }
  if (request.method !== 'GET') actedAt = performance.now();
  return response;
}

/** Within this time lists show what a deed has changed. */
const JUST_MS = 3000;
let actedAt = -Infinity;

/** Whether the operator has changed something a moment ago. */
export function hasJustActed(): boolean {
  return performance.now() - actedAt < JUST_MS;
}

function signedInAgain(): Promise<void> {
  const state = sessionState.get();
  if (state.kind === 'in') sessionState.set({ ...state, kind: 'expired' });
  return new Promise((resolve) => waiting.push(resolve));
}

async function call(method: string, path: string, body?: object): Promise<Response> {
  const response = await reach(
    new Request(new URL(`console/${path}`, ROOT), {
      method,
      headers: { ...FROM_CONSOLE, ...(body && { 'Content-Type': 'application/json' }) },
      body: body && JSON.stringify(body),
    }),
  );
  if (!response.ok) throw await ProblemError.of(response);
  return response;
}

async function reach(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw ProblemError.unreachable();
  }
}
