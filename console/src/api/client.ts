import createClient from 'openapi-fetch';
import type { components, paths } from '../../../clients/typescript/src/openapi';
import { ProblemError } from './problem';
import { ROOT } from './root';
import { FROM_CONSOLE, sessionFetch } from './session';

export type Schemas = components['schemas'];

/** Every operation of the OpenAPI document, typed, with the operator's session. A refusal is thrown as ProblemError. */
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

export interface Page<T> {
  rows: T[];
  /** The cursor of the next page; null at the end. */
  next: string | null;
}

/** Returns a page of a list, with the cursor from its `Link` header. */
export async function pageOf<T>(answer: Promise<Answered<T[]>>): Promise<Page<T>> {
  const { data = [], response } = await answer;
  // The address uses the service's own host name, which may differ from ours: only its cursor is used.
  const [, address] = /<([^>]*)>\s*;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  const next = address === undefined ? null : new URL(address, ROOT).searchParams.get('cursor');
  return { rows: data, next };
}

/** Creates the Idempotency-Key of an intended action, so that a double click or a lost response performs it once. */
export function newIdempotencyKey(): string {
  return `console-${crypto.randomUUID()}`;
}
