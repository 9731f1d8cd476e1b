import { setTimeout as pause } from 'node:timers/promises';
import createClient, { type Client } from 'openapi-fetch';
import { AccessToken, type Credentials } from './access-token.js';
import type { components, paths } from './openapi.js';
import { ProblemError, problemOf } from './problem-error.js';
import { repeatingFetch, type Retries } from './repeating-fetch.js';

export type Change = components['schemas']['ChangeModel'];
export type ImportProgress = components['schemas']['ImportModel'];

export interface ClientOptions {
  /** The base URL of the service, with or without a trailing slash. */
  baseUrl: string;
  /** The address of the token endpoint; by default, `/token` below the base URL. */
  tokenUrl?: string;
  credentials: Credentials;
  retries?: Retries;
}

/** A response from `api`. `data` is always present, because `api` throws an error for any response other than 2xx. */
interface Answered<T> {
  data?: T;
  response: Response;
}

export interface ChangePage {
  entries: Change[];
  /**
   * The cursor that continues after this page. Store it in the transaction in which you apply the entries of the page.
   */
  next: string;
}

export interface ImportOptions {
  type: 'text/csv' | 'application/x-ndjson';
  dryRun?: boolean;
  /** Called with the id of the import when the service has received the file. */
  onStart?: (importId: string) => void;
  /**
   * Aborts the import. If the service has not received the whole file yet, no data is changed. Otherwise, the service
   * keeps the changes from the rows that it has already processed.
   */
  signal?: AbortSignal;
  /** The Idempotency-Key of the upload. A second upload with the same key returns the import of the first upload. */
  idempotencyKey?: string;
  /** Called with the progress at each poll. The last call contains the final figures. */
  onProgress?: (progress: ImportProgress) => void;
  /** The polling interval in milliseconds; 500 by default. */
  pollMs?: number;
  /**
   * The stream to which the report is written, or a function that returns the stream. The function is called only when
   * there is a report. If this option is set, the returned report is empty.
   */
  reportTo?: WritableStream<Uint8Array> | (() => WritableStream<Uint8Array>);
}

const PAGE = 200;

/** Calls the service as one user of one application. */
export class EligibilityClient {
  /**
   * Typed functions for all operations of the OpenAPI document. They throw a ProblemError for a response with a status
   * of 400 or above.
   */
  readonly api: Client<paths>;
  private readonly baseUrl: string;
  private readonly token: AccessToken;

  constructor({ baseUrl, tokenUrl, credentials, retries = {} }: ClientOptions) {
    this.baseUrl = baseUrl.replace(/\/+$/, '');
    this.token = new AccessToken((tokenUrl ?? this.baseUrl).replace(/\/+$/, ''), credentials, fetch);
    this.api = createClient<paths>({ baseUrl: this.baseUrl, fetch: repeatingFetch(this.token, retries) });
    this.api.use({
      onResponse: async ({ response }) => {
        if (!response.ok) throw await problemOf(response);
      },
    });
  }

  /** Returns a valid access token, for calls of your own. */
  accessToken(): Promise<string> {
    return this.token.get();
  }

  /** Yields the entries of a list, which is loaded page by page. `load` requests the page at the given cursor. */
  async *each<T>(load: (cursor: string | undefined) => Promise<Answered<T[]>>): AsyncGenerator<T> {
    let cursor: string | undefined;
    do {
      const { data = [], response } = await load(cursor);
      yield* data;
      cursor = nextOf(response, 'cursor') ?? undefined;
    } while (cursor !== undefined);
  }

  /** Yields the account's records, newest first. */
  eligibilities(account_code: string, query: { status?: string; test_code?: string; updated_since?: string } = {}) {
    return this.each((cursor) =>
      this.api.GET('/accounts/{account_code}/eligibilities', {
        params: {
          path: { account_code },
          query: { ...query, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
        },
      }),
    );
  }

  /**
   * Yields the change feed page by page, up to its end. If `followMs` is set, it never ends, and waits `followMs`
   * milliseconds after each empty page.
   * @param after the `next` cursor of the last page that was read; `now` to read only later changes; undefined to read
   * from the beginning
   */
  async *changes(
    account_code: string,
    { after, followMs, signal }: { after?: string; followMs?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<ChangePage> {
    let cursor = after;
    for (;;) {
      const { data: entries = [], response } = await this.api.GET('/accounts/{account_code}/changes', {
        params: { path: { account_code }, query: { limit: PAGE, ...(cursor === undefined ? {} : { after: cursor }) } },
        ...(signal === undefined ? {} : { signal }),
      });
      const next = nextOf(response, 'after');
      if (next === null) throw new TypeError('The change feed has no Link: rel="next".');
      cursor = next;
      yield { entries, next };
      if (entries.length > 0) continue;
      if (followMs === undefined) return;
      await pause(followMs, undefined, { signal });
    }
  }

  /** Uploads a file, and waits until the import has ended. Returns the final figures, and the report as CSV. */
  async import(
    account_code: string,
    body: Exclude<RequestInit['body'], null | undefined>,
    { type, dryRun = false, onStart, signal, idempotencyKey, onProgress, pollMs = 500, reportTo }: ImportOptions,
  ): Promise<{ progress: ImportProgress; report: string }> {
    const response = await fetch(
      `${this.baseUrl}/accounts/${encodeURIComponent(account_code)}/eligibility-imports?dry_run=${dryRun}`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await this.token.get()}`,
          'content-type': type,
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body,
        duplex: 'half',
        ...(signal === undefined ? {} : { signal }),
      },
    );
    if (!response.ok) throw await problemOf(response);
    const { import_id } = (await response.json()) as { import_id: string };
    onStart?.(import_id);
    const params = { path: { account_code, import_id } };
    let isAborted = false;
    for (;;) {
      const { data } = await this.api.GET('/accounts/{account_code}/eligibility-imports/{import_id}', { params });
      const progress = data as ImportProgress;
      onProgress?.(progress);
      if (progress.state !== 'RUNNING' && progress.state !== 'RECEIVING') {
        const path = '/accounts/{account_code}/eligibility-imports/{import_id}/report';
        if (reportTo !== undefined) {
          const to = typeof reportTo === 'function' ? reportTo() : reportTo;
          const { data } = await this.api.GET(path, { params, parseAs: 'stream' });
          await (data as ReadableStream<Uint8Array>).pipeTo(to);
          return { progress, report: '' };
        }
        const { data: report } = await this.api.GET(path, { params, parseAs: 'text' });
        return { progress, report: String(report) };
      }
      if (signal?.aborted === true && !isAborted) {
        isAborted = true;
        await this.abortImport(account_code, import_id);
      } else await pause(pollMs, undefined, isAborted || signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  }

  /** Yields the account's imports, newest first. */
  imports(account_code: string, query: { state?: ImportProgress['state'] } = {}) {
    return this.each((cursor) =>
      this.api.GET('/accounts/{account_code}/eligibility-imports', {
        params: {
          path: { account_code },
          query: { ...query, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
        },
      }),
    );
  }

  /** Aborts an import. If the import has already ended, the call has no effect. */
  async abortImport(account_code: string, import_id: string): Promise<void> {
    try {
      await this.api.POST('/accounts/{account_code}/eligibility-imports/{import_id}/abort', {
        params: { path: { account_code, import_id } },
      });
    } catch (error) {
      if (!(error instanceof ProblemError && error.code === 'import_ended')) throw error;
    }
  }
}

function nextOf(response: Response, parameter: string): string | null {
  const [, address] = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return address === undefined
    ? null
    : new URL(address, response.url || 'http://localhost').searchParams.get(parameter);
}
