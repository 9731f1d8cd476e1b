// Manages the signed-in user. The session is a cookie that scripts cannot read. The responses to the page's calls show
// whether a user is signed in.
//
// 1. At the start, the console asks the service for the signed-in user. If no user is signed in, the sign-in page is
//    shown at the requested address.
// 2. A call that is refused with 401 waits, and a dialog over the page asks the user to sign in again. The page keeps
//    typed input.
// 3. After the sign-in, the call is retried once. If a different user has signed in, the page is loaded again.
import type { components } from '../../../clients/typescript/src/openapi';
import { noteServiceTime } from './clock';
import { requestEarly, takeEarly } from './early';
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

/**
 * Returns the scopes of the signed-in operator. If the session expires, the scopes are kept until the operator has
 * signed in again.
 */
export function useScopes(): readonly string[] {
  const state = useStore(sessionState);
  return 'session' in state ? state.session.scopes : [];
}

/** The header that marks requests from the console. A page of another site cannot send this header. */
export const FROM_CONSOLE = { 'Console-Request': '1' };
const RETURN_TO = 'console-return-to';

let waiting: (() => void)[] = [];

/** Fetches the signed-in user, and repeats the API calls that waited for the sign-in. */
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

/** Fetches the signed-in user, and then the data of an operator's page, while the program is still being loaded. */
export async function loadFirst(): Promise<void> {
  await loadSession();
  const state = sessionState.get();
  if (state.kind !== 'in' || !state.session.scopes.some((scope) => scope === 'admin' || scope === 'support')) return;
  requestEarly((url) => reach(new Request(url, { headers: FROM_CONSOLE })));
}

/**
 * Signs the user in with user name and password.
 * @throws ProblemError
 */
export async function signIn(username: string, password: string): Promise<void> {
  await call('POST', 'session', { username, password });
  await loadSession();
}

/** Ends the session of this browser, or all sessions of the user, and then loads the console again. */
export async function signOut(everywhere: boolean): Promise<void> {
  await call('DELETE', everywhere ? 'sessions' : 'session');
  location.assign(CONSOLE_PATH);
}

/**
 * Ends the session of this browser. If the identity provider has a sign-out page, the browser is then redirected to
 * that page.
 */
export async function signOutAtOrganisation(): Promise<void> {
  const answer = await call('DELETE', 'session?organisation=true');
  const { organisation } = (await answer.json()) as components['schemas']['SignedOut'];
  location.assign(organisation ?? CONSOLE_PATH);
}

/**
 * Redirects to the identity provider, which redirects back to the console after the sign-in. The console then shows the
 * page whose path {@link pathToReturnTo} returns.
 */
export function signInAtOrganisation(): void {
  sessionStorage.setItem(RETURN_TO, location.pathname + location.search);
  location.assign(`${CONSOLE_PATH}/sign-in`);
}

export function pathToReturnTo(): string | null {
  const path = sessionStorage.getItem(RETURN_TO);
  sessionStorage.removeItem(RETURN_TO);
  return path?.startsWith(`${CONSOLE_PATH}/`) ? path : null;
}

/**
 * Sends a request in the operator's session. If the response is 401, waits until the operator has signed in again, and
 * sends the request once more.
 */
export async function sessionFetch(request: Request): Promise<Response> {
  const again = request.clone();
  let response = await (takeEarly(request) ?? reach(request));
  if (response.status === 401) {
    await signedInAgain();
    response = await reach(again);
  }
  if (request.method !== 'GET') actedAt = performance.now();
  return response;
}

/**
 * The time after an action of the operator, in milliseconds. During this time, lists show all changes immediately,
 * because the operator expects changes.
 */
const JUST_MS = 3000;
let actedAt = -Infinity;

/** Returns whether the operator's latest action ended less than `JUST_MS` ago. */
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

/**
 * Returns the time, in milliseconds, within which a response must begin. The time is long for an upload, because its
 * response begins only after the whole file has been sent.
 */
function patienceFor({ method, headers }: Request): number {
  if (method === 'GET') return 15_000;
  const isSmall = headers.get('content-type')?.startsWith('application/json') ?? true;
  return isSmall ? 60_000 : 3_600_000;
}

async function reach(request: Request): Promise<Response> {
  const silence = new AbortController();
  const timer = window.setTimeout(() => silence.abort(), patienceFor(request));
  const sentAt = Date.now();
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, silence.signal]) });
    noteServiceTime(response, sentAt);
    return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw ProblemError.unreachable(silence.signal.aborted);
  } finally {
    window.clearTimeout(timer);
  }
}
