import { createHash, type Hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { v7 as uuid } from 'uuid';
import { Clock } from '../platform/clock.js';
import { violatedConstraint } from '../platform/database/database.js';
import { requestContext } from '../platform/context/request-context.js';
import {
  malformedRequest,
  payloadTooLarge,
  requestTimeout,
  serviceUnavailable,
  unsupportedMediaType,
} from '../platform/errors.js';
import { sendContinue } from '../platform/http/connection.js';
import { keyInUse, keyOf, StreamedIdempotency } from '../platform/unit-of-work/idempotency.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { chunksOf } from './chunks.js';
import { ImportStore } from './import-store.js';
import type { ImportQuery } from './imports.dto.js';
import { formOfType, MOST_BYTES, MOST_ROWS } from './imports.rules.js';
import { RowReader } from './row-reader.js';

const IDLE_MS = 30_000;

interface ImportId {
  readonly import_id: string;
}

/** The import that was created for the received body, or the earlier import of the same body. */
interface ReceivedImport extends ImportId {
  readonly isReplay: boolean;
}

/**
 * Receives the body of an import.
 *
 * 1. The service decides by the headers whether it accepts the body. If so, it creates the import in the state
 *    RECEIVING.
 * 2. Rows are stored encrypted in chunks as they arrive. While a chunk is written, reading pauses: backpressure slows
 *    down a fast sender. At most one chunk is in memory.
 * 3. When the body has ended correctly, the import becomes RUNNING and workers may claim it.
 * 4. If the body is refused, the whole import is deleted. If the process crashes, the lease expires and the import
 *    becomes FAILED. If the body arrives too slowly, the import becomes FAILED and the request gets an error. If the
 *    import is aborted during the upload, the request gets the normal response.
 * 5. With an `Idempotency-Key`, the response is stored in the transaction of step 3. If the key already has a response,
 *    the body is not imported, but only compared with the earlier body. Only one body at a time may use a key.
 *
 * Never call `destroy` on a refused request, because the sender would lose the response (connection.ts).
 */
@Injectable()
export class ImportReception {
  constructor(
    private readonly store: ImportStore,
    private readonly clock: Clock,
    private readonly keys: StreamedIdempotency,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /**
   * Receives the body of a request.
   * @throws DomainError for a body that is refused as a whole
   */
  async receive(
    accountCode: string,
    { dry_run, file_name }: ImportQuery,
    request: Request,
    response: Response,
  ): Promise<ReceivedImport> {
    const packed = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
    if (packed !== 'identity')
      throw unsupportedMediaType.error({ detail: 'The file must be sent uncompressed, without a Content-Encoding.' });
    const form = formOfType(request.headers['content-type']);
    if (form === null)
      throw unsupportedMediaType.error({
        detail: 'The body must be text/csv or application/x-ndjson, in UTF-8 or in an encoding that charset names.',
      });
    if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooManyBytes();
    const key = keyOf(request);
    const hash = createHash('sha256');
    const pieces = piecesOf(request, hash);
    if (key !== null && (await this.keys.isKept(key))) {
      sendContinue(request, response);
      for await (const _ of pieces);
      return this.replayed(await this.unitOfWork.run(() => this.keys.keptAnswer(key, request, hash.digest('hex'))));
    }
    const { caller, requestId } = requestContext();
    const id = uuid();
    try {
      await this.store.begin({
        import_id: id,
        account_code: accountCode,
        dry_run: dry_run === 'true',
        file_name: file_name ?? null,
        username: caller!.username,
        consumer_key: caller!.consumerKey,
        scopes: [...caller!.scopes],
        request_id: requestId,
        received_datetime: this.clock.now(),
        idempotency_key: key,
      });
    } catch (error) {
      throw violatedConstraint(error) === 'eligibility_imports_key_in_use' ? keyInUse() : error;
    }
    sendContinue(request, response);
    try {
      const reader = new RowReader(form);
      let rows = 0;
      let chunks = 0;
      for await (const chunk of chunksOf(reader.rows(pieces))) {
        if (rows + chunk.length > MOST_ROWS) throw tooManyRows();
        const added = { chunk: chunks++, firstRow: rows + 1, rows: chunk, columns: reader.columns };
        if (!(await this.store.addChunk(id, added))) await this.assertNotFailed(id);
        rows += chunk.length;
      }
      const close = () => this.store.close(id, rows, reader.columns, this.clock.now());
      const earlier = await this.close(id, close, key, request, hash);
      if (earlier === null) return { import_id: id, isReplay: false };
      await this.store.discard(id);
      return this.replayed(earlier);
    } catch (error) {
      await this.store.discard(id).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Closes the import and returns null. If a response is already stored for the idempotency key, returns that response,
   * and the import stays open.
   */
  private async close(
    id: string,
    close: () => Promise<boolean>,
    key: string | null,
    request: Request,
    hash: Hash,
  ): Promise<ImportId | null> {
    const bodyHash = hash.digest('hex');
    return this.unitOfWork.run(async () => {
      const earlier = key === null ? null : await this.keys.keptAnswer<ImportId>(key, request, bodyHash);
      if (earlier !== null) return earlier;
      if (!(await close())) await this.assertNotFailed(id);
      if (key !== null) this.keys.keep(key, request, bodyHash, 202, { import_id: id });
      return null;
    });
  }

  private replayed(kept: ImportId | null): ReceivedImport {
    // A stored response was found under the idempotency key. If the response is missing now, it has expired in the
    // meantime.
    if (kept === null) throw keyInUse();
    return { import_id: kept.import_id, isReplay: true };
  }

  /**
   * Refuses the request if its import failed before all rows arrived. An aborted import is not a failure.
   * @throws DomainError service_unavailable
   */
  private async assertNotFailed(id: string): Promise<void> {
    const state = await this.store.stateOf(id);
    if (state !== 'FAILED' && state !== null) return;
    const detail = 'The body arrived too slowly, and nothing of it was stored. Send it again.';
    throw serviceUnavailable.error({ detail, headers: { 'Retry-After': '1' } });
  }
}

/**
 * Yields the chunks of the request's body. Fails if the body exceeds the size limit, or if the sender pauses too long.
 */
async function* piecesOf(request: Request, hash: Hash): AsyncIterable<Buffer> {
  const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let bytes = 0;
  for (;;) {
    const next = await withinIdleTime(pieces.next());
    if (next.done === true) return;
    bytes += next.value.length;
    if (bytes > MOST_BYTES) throw tooManyBytes();
    hash.update(next.value);
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
      // The sender disconnected, which is reported as a malformed request rather than as an error of the service.
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
