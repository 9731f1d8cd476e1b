import type { TLSSocket } from 'node:tls';
import { assertLineEnds, CR, finalHead, LF, MAX_HEAD_BYTES, statusOf } from './answer-head.js';
import { PartnerFault } from './partner-connection.js';

/** The answer to a request. */
export interface Answer {
  status: number;
  /** At most the first 64 KiB. */
  body: Buffer;
  /**
   * `cut`: longer than 64 KiB, and the connection was closed; `late`: incomplete at the deadline; `broken`: the
   * connection was lost.
   */
  ending: 'complete' | 'cut' | 'late' | 'broken';
  /** The HTTP syntax error of a broken body; null when there is none. */
  syntax: string | null;
  /**
   * The content coding; null when there is none. A partner's body is never decompressed, because a few bytes can
   * contain gigabytes.
   */
  coding: string | null;
  /** The target of a redirect, unchanged. */
  location: string | null;
  /** `Retry-After`, unchanged. */
  retryAfter: string | null;
}

/**
 * Maximum size of a whole answer. A time limit does not bound bytes, and interim answers and chunk extensions have no
 * limit of their own.
 */
const MAX_ANSWER_BYTES = 256 * 1024;
const END_OF_HEAD = '\r\n\r\n';
const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Passes the bytes of a partner's answer to undici, without interim answers and with the final head in one piece
 * (answer-head.ts). undici treats `100 Continue` as a fault and destroys the socket, although a server may send
 * unsolicited interim answers that clients must skip (RFC 9110 §15.2). Bytes that are not HTTP are refused here, with a
 * reason.
 *
 * It replaces the socket's `read`, which undici calls (docs/decisions/0013-private-parts.md).
 */
export class AnswerReader {
  /** Whether a byte of the current answer has arrived. */
  begun = false;
  /** The current answer from its status line on, as far as it was read. */
  said = NOTHING;
  private bytes = 0;
  /** The bytes of an incomplete head; null once the final head has been passed on. */
  private head: Buffer | null = null;

  constructor(socket: TLSSocket) {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    socket.read = (size?: number) => {
      // Node calls `read(0)` only to start the next read.
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

  /** Prepares for a new answer. */
  expectAnswer(): void {
    this.begun = false;
    this.bytes = 0;
    this.head = NOTHING;
  }

  /** Drops the bytes of an ended answer, so that an idle connection holds none. */
  forget(): void {
    this.said = NOTHING;
  }

  /** @throws PartnerFault */
  private take(chunk: Buffer): Buffer | null {
    this.begun = true;
    this.bytes += chunk.length;
    if (this.bytes > MAX_ANSWER_BYTES) throw new PartnerFault('protocol', 'answer_too_long', this.said);
    if (this.head === null) return chunk;
    return this.fromFinalHead(this.head.length === 0 ? chunk : Buffer.concat([this.head, chunk]));
  }

  /** Returns the bytes from the final head on; null while the head is incomplete. */
  private fromFinalHead(bytes: Buffer): Buffer | null {
    let rest = bytes;
    for (;;) {
      // A previous answer left these bytes; llhttp skips them, too.
      while (rest[0] === CR || rest[0] === LF) rest = rest.subarray(1);
      this.said = rest;
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
