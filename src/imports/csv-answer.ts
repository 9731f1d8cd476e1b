import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { applyDecorators } from '@nestjs/common';
import { ApiProduces, ApiResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { sharingReads } from '../platform/overload/read-share.js';

/** Adds to the OpenAPI description that the route returns a CSV file. */
export const CsvAnswer = (description: string) =>
  applyDecorators(
    ApiProduces('text/csv'),
    ApiResponse({ status: 200, description, content: { 'text/csv': { schema: { type: 'string' } } } }),
  );

/**
 * Sends a CSV file chunk by chunk, as fast as the client reads. The first chunk is built before the response begins, so
 * that an error in the first chunk can still be reported.
 */
export async function sendCsv(response: Response, fileName: string, pieces: AsyncIterable<string>): Promise<void> {
  const iterator = sharingReads(pieces);
  const first = await iterator.next();
  response.set({
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="${fileName}"`,
  });
  if (response.req.method === 'HEAD') {
    await iterator.return(undefined);
    response.end();
    return;
  }
  const whole = async function* (): AsyncIterable<string> {
    if (first.done === true) return;
    yield first.value;
    yield* iterator;
  };
  try {
    await pipeline(Readable.from(whole(), { highWaterMark: 1 }), response);
  } catch (error) {
    // The error ERR_STREAM_PREMATURE_CLOSE means that the client disconnected before the CSV file was sent.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
