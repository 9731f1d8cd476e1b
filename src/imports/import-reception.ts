import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { v7 as uuid } from 'uuid';
import { Clock } from '../platform/clock.js';
import { requestContext } from '../platform/context/request-context.js';
import {
  malformedRequest,
  payloadTooLarge,
  requestTimeout,
  serviceUnavailable,
  unsupportedMediaType,
} from '../platform/errors.js';
import { sendContinue } from '../platform/http/connection.js';
import { chunksOf } from './chunks.js';
import { ImportStore } from './import-store.js';
import { formatOf, MOST_BYTES, MOST_ROWS } from './imports.rules.js';
import { readRows } from './row-reader.js';

const IDLE_MS = 30_000;

/**
 * Takes the body of an import in.
 *
 * 1. The headers decide whether it is taken at all; then the import is made, RECEIVING.
 * 2. Rows are kept in chunks, encrypted, as they come: while a chunk is written nothing more is read, so that a sender
 *    who is faster than the database waits. No more than a chunk is in memory.
 * 3. When the body has ended well the import is RUNNING, and workers may take it.
 * 4. What is refused on the way takes all of it back. What a crash left is found by its lease, and FAILED; so is a body that
 *    comes too slowly, which is not answered as if it had been taken. One that was aborted meanwhile has been taken.
 *
 * Never destroy the request when it is refused: the caller would lose the answer (connection.ts).
 */
@Injectable()
export class ImportReception {
  constructor(
    private readonly store: ImportStore,
    private readonly clock: Clock,
  ) {}

  /** @returns the id. @throws DomainError for a body that is refused as a whole */
  async receive(accountCode: string, dryRun: boolean, request: Request, response: Response): Promise<string> {
    const format = formatOf(request.headers['content-type'], request.headers['content-encoding']);
    if (format === null)
      throw unsupportedMediaType.error({ detail: 'The body must be text/csv or application/x-ndjson in UTF-8.' });
    if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooManyBytes();
    const { caller, requestId } = requestContext();
    const id = uuid();
    await this.store.begin({
      import_id: id,
      account_code: accountCode,
      dry_run: dryRun,
      username: caller!.username,
      consumer_key: caller!.consumerKey,
      scopes: [...caller!.scopes],
      request_id: requestId,
      received_datetime: this.clock.now(),
    });
    sendContinue(request, response);
    try {
      let rows = 0;
      let chunks = 0;
      for await (const chunk of chunksOf(readRows(format, piecesOf(request)))) {
        if (rows + chunk.length > MOST_ROWS) throw tooManyRows();
        if (!(await this.store.addChunk(id, chunks++, rows + 1, chunk))) await this.assertNotFailed(id);
        rows += chunk.length;
      }
      if (!(await this.store.close(id, rows, this.clock.now()))) await this.assertNotFailed(id);
      return id;
    } catch (error) {
      await this.store.discard(id).catch(() => undefined);
      throw error;
    }
  }

  /** Of an import that takes nothing in any more: it was aborted. @throws DomainError service_unavailable */
  private async assertNotFailed(id: string): Promise<void> {
    const state = await this.store.stateOf(id);
    if (state !== 'FAILED' && state !== null) return;
    const detail = 'The body came too slowly, and nothing of it is kept: send it again.';
    throw serviceUnavailable.error({ detail, headers: { 'Retry-After': '1' } });
  }
}

/** The body as it comes, no longer than it may be, from a caller who does not stop in its middle. */
async function* piecesOf(request: Request): AsyncIterable<Buffer> {
  const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let bytes = 0;
  for (;;) {
    const next = await withinIdleTime(pieces.next());
    if (next.done === true) return;
    bytes += next.value.length;
    if (bytes > MOST_BYTES) throw tooManyBytes();
    yield next.value;
  }
}

async function withinIdleTime<T>(piece: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(requestTimeout.error()), IDLE_MS);
  });
  try {
    return await Promise.race([
      // The caller has gone away: nobody reads the answer, and nothing of ours is wrong.
      piece.catch((error: unknown) => Promise.reject(malformedRequest.error({ cause: error }))),
      late,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

function tooManyBytes() {
  return payloadTooLarge.error({ detail: `An import has at most ${MOST_BYTES / 1024 / 1024} MiB.` });
}

function tooManyRows() {
  return payloadTooLarge.error({ detail: `An import has at most ${MOST_ROWS} rows.` });
}
