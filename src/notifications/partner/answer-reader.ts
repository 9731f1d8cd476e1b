import type { TLSSocket } from 'node:tls';
import { assertLineEnds, CR, finalHead, LF, MAX_HEAD_BYTES, statusOf } from './answer-head.js';
import { PartnerFault } from './partner-connection.js';

/** A partner's response to an HTTP request. */
export interface Answer {
  status: number;
  /** The first 64 KiB of the response's body. */
  body: Buffer;
  /**
   * How the body of the response ended. `cut`: it exceeds 64 KiB, and the connection was closed. `late`: it was
   * incomplete at the deadline. `broken`: the connection was lost.
   */
  ending: 'complete' | 'cut' | 'late' | 'broken';
  /** The HTTP syntax error that broke the body; null if there was none. */
  syntax: string | null;
  /**
   * The content coding of the body; null if it has none. The service never decompresses a partner's body, because a few
   * bytes can contain gigabytes.
   */
  coding: string | null;
  /** The `Location` header of a redirect, unchanged. */
  location: string | null;
  /** The `Retry-After` header, unchanged. */
  retryAfter: string | null;
}

/**
 * The maximum size of a response in bytes. Interim responses do not count, because they occupy no memory. This limit is
 * needed, because the time limit does not bound the size, and chunk extensions have no other limit.
 */
const MAX_ANSWER_BYTES = 256 * 1024;
const END_OF_HEAD = '\r\n\r\n';
const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Passes the bytes of a partner's response to undici, without interim responses and with the final head in one piece
 * (answer-head.ts). Interim responses are left out, because undici treats `100 Continue` as a fault and destroys the
 * socket. A server may send unsolicited interim responses, and a client must skip them (RFC 9110 §15.2). Bytes that are
 * not HTTP are refused here, with a reason.
 *
 * This class replaces the socket's `read`, which undici calls (docs/decisions/0013-private-parts.md).
 */
export class AnswerReader {
  /** Whether any byte of the partner's current response has arrived. */
  begun = false;
  /** The bytes read so far of the current response or, before it begins, of its last interim response. */
  said = NOTHING;
  /** The number of bytes of the current response that were passed on to undici. */
  private bytes = 0;
  /** The bytes of an incomplete head; null after the final head was passed on to undici. */
  private head: Buffer | null = null;

  constructor(socket: TLSSocket) {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    socket.read = (size?: number) => {
      // Node.js calls `read(0)` only to start the next read from the socket, and ignores the result.
      if (size === 0) return read(0);
      for (let chunk = read(); chunk !== null; chunk = read()) {
        try {
          const rest = this.take(chunk);
          if (rest !== null) return rest;
        } catch (fault) {
          socket.destroy(fault as PartnerFault);
          return null;
        }
      }
      return null;
    };
  }

  /** Prepares the reader for the next response on its connection. */
  expectAnswer(): void {
    this.begun = false;
    this.bytes = 0;
    this.head = NOTHING;
  }

  /** Drops the bytes of the last response, so that an idle connection holds no memory for them. */
  forget(): void {
    this.said = NOTHING;
  }

  /**
   * Takes a chunk of the response. Returns the bytes to pass on; null if there are none yet.
   * @throws PartnerFault
   */
  private take(chunk: Buffer): Buffer | null {
    this.begun = true;
    const { head } = this;
    const passed = head === null ? chunk : this.fromFinalHead(head.length === 0 ? chunk : Buffer.concat([head, chunk]));
    this.bytes += passed?.length ?? 0;
    if (this.bytes > MAX_ANSWER_BYTES) throw new PartnerFault('protocol', 'answer_too_long', this.said);
    return passed;
  }

  /**
   * Returns the bytes from the start of the final response's head, after any interim responses; null while that head is
   * incomplete.
   */
  private fromFinalHead(bytes: Buffer): Buffer | null {
    let rest = bytes;
    for (;;) {
      // Line breaks may remain from the previous response. undici's parser skips them, too.
      while (rest[0] === CR || rest[0] === LF) rest = rest.subarray(1);
      if (rest.length > 0) this.said = rest;
      const status = statusOf(rest);
      const end = status === null ? -1 : rest.indexOf(END_OF_HEAD);
      if (status !== null) assertLineEnds(end === -1 ? rest : rest.subarray(0, end));
      if (end === -1 && rest.length <= MAX_HEAD_BYTES) {
        this.head = rest;
        return null;
      }
      if (end === -1) throw new PartnerFault('protocol', 'headers_too_long', rest);
      const length = end + END_OF_HEAD.length;
      if (status !== null && status >= 200) {
        this.head = null;
        return finalHead(rest, length);
      }
      rest = rest.subarray(length);
    }
  }
}
