/**
 * The operator's session: tokens and the application's credentials live in this module alone and end with the page.
 * Nothing of it is ever written to storage, a cookie or an address.
 */

/** Where the service is: these files lie one level below it, whatever prefix a gateway puts before it. */
const ROOT = new URL('..', import.meta.url);
/** Renewed so long before its end, so that a token does not expire on its way. */
const EARLY_MS = 30_000;

let session = null;
let renewal = null;
let onEnd = () => {};

/** What the token service refused (RFC 6749 §5.2); `code` is `unreachable` when no answer came. */
export class TokenError extends Error {
  constructor(code, description, status, retryAfterS) {
    super(description);
    this.code = code;
    this.status = status;
    this.retryAfterS = retryAfterS;
  }
}

export function addressOf(path, query = {}) {
  const address = new URL(path.replace(/^\//, ''), ROOT);
  for (const [name, value] of Object.entries(query))
    if (value != null && value !== '') address.searchParams.set(name, value);
  return address;
}

/** Called when the session ends by itself: the refresh token is used up or no longer good. */
export function whenSessionEnds(callback) {
  onEnd = callback;
}

export function currentUser() {
  return session?.username ?? null;
}

export function mayRead() {
  return session !== null && session.scopes.includes('read');
}

/** @throws TokenError */
export async function signIn({ consumerKey, consumerSecret, username, password }) {
  const client = { consumerKey, consumerSecret };
  const grant = (scope) => request('token', client, { grant_type: 'password', username, password, scope });
  // Eligibilities are read with a scope of their own; an operator who lacks it can do all the rest.
  const tokens = await grant('admin read').catch((error) => {
    if (error.code !== 'invalid_scope') throw error;
    return grant('admin');
  });
  session = { ...client, username };
  keep(tokens);
}

/** Ends the session here at once, and at the token service with all its tokens (RFC 7009). */
export async function signOut() {
  const { refreshToken, ...client } = session;
  session = null;
  await request('revoke', client, { token: refreshToken, token_type_hint: 'refresh_token' });
}

/**
 * An access token that is good for a while yet.
 * @param refused the token that the service has just refused, if it has
 */
export async function accessToken(refused = null) {
  if (session === null) throw new TokenError('signed_out', 'Nobody is signed in.');
  if (session.accessToken === refused || Date.now() > session.expiresAt - EARLY_MS) {
    // A refresh token is good once, and a second use ends the session: all callers wait for the same renewal.
    renewal ??= renew().finally(() => (renewal = null));
    await renewal;
  }
  return session.accessToken;
}

async function renew() {
  const renewed = session;
  try {
    const tokens = await request('token', renewed, {
      grant_type: 'refresh_token',
      refresh_token: renewed.refreshToken,
    });
    if (session === renewed) keep(tokens);
  } catch (error) {
    if (['invalid_grant', 'invalid_client', 'invalid_scope'].includes(error.code) && session === renewed) {
      session = null;
      onEnd();
    }
    throw error;
  }
}

function keep(tokens) {
  session.accessToken = tokens.access_token;
  session.refreshToken = tokens.refresh_token;
  session.expiresAt = Date.now() + tokens.expires_in * 1000;
  session.scopes = tokens.scope.split(' ');
}

async function request(path, { consumerKey, consumerSecret }, form) {
  let answer;
  try {
    answer = await fetch(addressOf(path), {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { authorization: basic(consumerKey, consumerSecret) },
      // With credentials the browser would ask for a password itself at the Basic challenge of a 401.
      credentials: 'omit',
      redirect: 'error',
    });
  } catch {
    throw new TokenError('unreachable', 'The service did not answer.');
  }
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  const retryAfter = Number(answer.headers.get('retry-after'));
  throw new TokenError(body.error ?? 'unexpected', body.error_description ?? '', answer.status, retryAfter);
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basic(key, secret) {
  const encoded = (text) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${btoa(`${encoded(key)}:${encoded(secret)}`)}`;
}
