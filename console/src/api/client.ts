import createClient from 'openapi-fetch';
import type { components, paths } from '../../../clients/typescript/src/openapi';
import { ProblemError } from './problem';
import { ROOT } from './root';
import { FROM_CONSOLE, sessionFetch } from './session';

export type Schemas = components['schemas'];

/**
 * A typed function for every operation of the OpenAPI document. Requests are sent in the operator's session. An error
 * response is thrown as ProblemError.
 */
export const api = createClient<paths>({
  baseUrl: ROOT.href.replace(/\/$/, ''),
  headers: FROM_CONSOLE,
  fetch: sessionFetch,
});

api.use({
  onResponse: async ({ response }) => {
    if (!response.ok) throw await ProblemError.of(response);
  },
});

interface Answered<T> {
  data?: T;
  response: Response;
}

/** Returns the data of a response: `await dataOf(api.GET('/admin/jobs/{job_id}', …))`. */
export async function dataOf<T>(answer: Promise<Answered<T>>): Promise<T> {
  return (await answer).data as T;
}

const MOST_PER_PAGE = 200;

export interface Page<T> {
  rows: T[];
  /** The cursor of the next page; null if there is no next page. */
  next: string | null;
}

/** Returns a page of a list, with the cursor of the next page from the response's `Link` header. */
export async function pageOf<T>(answer: Promise<Answered<T[]>>): Promise<Page<T>> {
  const { data = [], response } = await answer;
  // The address in the `Link` header has the service's own host name, which may differ from the console's. Only the
  // cursor in the address is used.
  const [, address] = /<([^>]*)>\s*;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  const next = address === undefined ? null : new URL(address, ROOT).searchParams.get('cursor');
  return { rows: data, next };
}

/**
 * Returns the rows of all pages of a list, which are loaded one after another. Use it only for lists from which the user
 * chooses.
 */
export async function allOf<T>(load: (query: { cursor?: string; limit: number }) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const { rows, next } = await load({ cursor, limit: MOST_PER_PAGE });
    found.push(...rows);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return found;
}

/**
 * Creates an Idempotency-Key for an action. With the key, the action is performed only once, even after a double click
 * or a lost response.
 */
export function newIdempotencyKey(): string {
  return `console-${crypto.randomUUID()}`;
}
