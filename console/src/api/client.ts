import createClient from 'openapi-fetch';
import type { components, paths } from '../../../clients/typescript/src/openapi';
import { ProblemError } from './problem';
import { ROOT } from './root';
import { FROM_CONSOLE, sessionFetch } from './session';

export type Schemas = components['schemas'];

/**
 * The client of the API, with a typed function for every operation of the OpenAPI document. The client sends requests
 * in the operator's session, and throws error responses as ProblemError.
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

/** Waits for a response, and returns its data. Example: `await dataOf(api.GET('/admin/jobs/{job_id}', …))`. */
export async function dataOf<T>(answer: Promise<Answered<T>>): Promise<T> {
  return (await answer).data as T;
}

const MOST_PER_PAGE = 200;

export interface Page<T> {
  rows: T[];
  /** The cursor of the next page; null if there is no next page. */
  next: string | null;
}

/** Returns a page of a list. The cursor of the next page comes from the response's `Link` header. */
export async function pageOf<T>(answer: Promise<Answered<T[]>>): Promise<Page<T>> {
  const { data = [], response } = await answer;
  // The address in the `Link` header has the service's own host name, which may differ from the host name of the
  // console. Only the cursor in this address is therefore used.
  const [, address] = /<([^>]*)>\s*;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  const next = address === undefined ? null : new URL(address, ROOT).searchParams.get('cursor');
  return { rows: data, next };
}

/**
 * Loads all pages of a list one after another, and returns their rows. Use this function only for lists whose rows are
 * the options of a field.
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
 * Creates an Idempotency-Key for an action. The service performs the action only once, even if the console sends the
 * same key again after a double click or a lost response.
 */
export function newIdempotencyKey(): string {
  return `console-${crypto.randomUUID()}`;
}
