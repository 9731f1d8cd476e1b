import type { TLSSocket } from 'node:tls';
import { CR, finalHead, LF, MAX_HEAD_BYTES, statusOf } from './answer-head.js';
import { PartnerFault } from './partner-connection.js';

/** Of a whole answer. A time limit does not bound bytes, and interim answers and chunk extensions have no limit of their own. */
const MAX_ANSWER_BYTES = 256 * 1024;
const END_OF_HEAD = '\r\n\r\n';
const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Gives undici the bytes of a partner's answer: the interim answers before it are left out, and its head comes in one piece,
 * as undici takes it (answer-head.ts). undici takes `100 Continue` for a fault and destroys the socket, but a server may send
 * any number of interim answers unasked, and a client must skip them (RFC 9110 §15.2). Bytes that are no HTTP are refused here,
 * with a reason.
 *
 * This replaces `read` of the socket, which is how undici takes bytes out of it (docs/decisions/0013-private-parts.md).
 */
export class AnswerReader {
  /** A byte of the present answer has come. */
  begun = false;
  /** The present answer from its status line on, as far as it was looked at. */
  said = NOTHING;
  private bytes = 0;
  /** The bytes of a head that has not ended; null once the final head has been handed on. */
  private head: Buffer | null = null;

  constructor(socket: TLSSocket) {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    socket.read = (size?: number) => {
      // Node itself asks for nothing to set the next reading off.
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

  /** The next bytes belong to a new answer. */
  expectAnswer(): void {
    this.begun = false;
    this.bytes = 0;
    this.head = NOTHING;
  }

  /** The answer has ended: a connection that waits holds none of its bytes. */
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

  /** The bytes from the final head on; null while that has not ended. */
  private fromFinalHead(bytes: Buffer): Buffer | null {
    let rest = bytes;
    for (;;) {
      // Left behind by an answer before: llhttp passes over them, too.
      while (rest[0] === CR || rest[0] === LF) rest = rest.subarray(1);
      this.said = rest;
      const status = statusOf(rest);
      const end = status === null ? -1 : rest.indexOf(END_OF_HEAD);
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
