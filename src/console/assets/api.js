/** Calls of the JSON API with the operator's token. */
import { accessToken, addressOf, TokenError } from './session.js';

/** Longer than the longest wait for a partner, which a verification sits through. */
const PATIENCE_MS = 90_000;

/** A problem document (RFC 9457) as an exception; the members of the problem stand in `problem`. */
export class ApiError extends Error {
  constructor(status, problem, requestId) {
    super(problem.title ?? `The service answered ${status}`);
    this.status = status;
    this.problem = problem;
    this.requestId = problem.request_id ?? requestId;
  }
}

/**
 * @returns {Promise<{status: number, body: any, cursor: string|null}>} `cursor`: where the next page of a list begins
 * @throws ApiError
 */
export async function call(method, path, { query, body, idempotencyKey } = {}) {
  let token = await tokenOrProblem();
  let answer = await send(token);
  if (answer.status === 401) {
    token = await tokenOrProblem(token);
    answer = await send(token);
  }
  const text = await answer.text().catch(() => '');
  const content = parse(text);
  if (!answer.ok) throw new ApiError(answer.status, content ?? {}, answer.headers.get('x-request-id'));
  return { status: answer.status, body: content, cursor: nextCursor(answer.headers.get('link')) };

  async function send(bearer) {
    try {
      return await fetch(addressOf(path, query), {
        method,
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        credentials: 'omit',
        redirect: 'error',
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
    } catch {
      throw unreachable();
    }
  }
}

export async function get(path, query) {
  return (await call('GET', path, { query })).body;
}

export async function post(path, body, idempotencyKey) {
  return (await call('POST', path, { body, idempotencyKey })).body;
}

/** One for each thing that the operator means to do: sent again, by a double click or after a lost answer, it is done once. */
export function newIdempotencyKey() {
  return `console-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

async function tokenOrProblem(refused) {
  try {
    return await accessToken(refused);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    if (error.code === 'unreachable') throw unreachable();
    throw new ApiError(error.status ?? 401, { title: 'You are signed out', detail: 'Sign in and try again.' }, null);
  }
}

function unreachable() {
  const detail = 'No answer came. Check the connection; what you did may or may not have arrived.';
  return new ApiError(0, { title: 'The service cannot be reached', detail }, null);
}

/** The address in the header is the service's own name for itself, which need not be ours: only its cursor is used. */
function nextCursor(link) {
  const [, address] = /<([^>]*)>\s*;\s*rel="next"/.exec(link ?? '') ?? [];
  return address === undefined ? null : new URL(address, location.href).searchParams.get('cursor');
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
