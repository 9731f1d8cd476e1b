import type { TLSSocket } from 'node:tls';
import { PartnerFault } from './partner-connection.js';

export const MAX_HEAD_BYTES = 16 * 1024;
/** Of a whole answer. A time limit does not bound bytes, and status lines and chunk extensions have no limit of their own. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** The length of `HTTP/1.1 103`. */
const STATUS_LENGTH = 12;
const END_OF_HEAD = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);

/**
 * What undici reads from the socket of a partner: the answers without the interim ones before them, up to a limit of
 * bytes. undici takes `100 Continue` for a fault and destroys the socket, but a server may send any number of interim
 * answers unasked, and a client must skip them (RFC 9110 §15.2).
 *
 * This replaces `read` of the socket, which is how undici takes bytes out of it (docs/decisions/0013-private-parts.md).
 */
export class AnswerReader {
  /** A byte of the present answer has come. */
  begun = false;
  private bytes = 0;
  /** What has come of a head that may be interim; null once the final one has begun. */
  private head: Buffer | null = null;

  constructor(socket: TLSSocket) {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    socket.read = (size?: number) => {
      // Node itself asks for nothing to set the next reading off.
      if (size === 0) return read(0);
      for (let chunk = read(); chunk !== null; chunk = read()) {
        this.begun = true;
        this.bytes += chunk.length;
        if (this.bytes > MAX_ANSWER_BYTES) {
          socket.destroy(new PartnerFault('protocol', 'answer_too_long'));
          return null;
        }
        const rest = this.head === null ? chunk : this.withoutInterim(joined(this.head, chunk));
        if (rest !== null) return rest;
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

  /** What of these bytes belongs to the final answer; null while none has come. */
  private withoutInterim(bytes: Buffer): Buffer | null {
    let rest = bytes;
    while (rest.length >= STATUS_LENGTH && isInterim(rest)) {
      const end = rest.indexOf(END_OF_HEAD);
      if (end === -1) return this.keep(rest, rest.length <= MAX_HEAD_BYTES);
      rest = rest.subarray(end + END_OF_HEAD.length);
    }
    return this.keep(rest, rest.length < STATUS_LENGTH && 'HTTP/1.'.startsWith(rest.toString('latin1', 0, 7)));
  }

  private keep(bytes: Buffer, undecided: boolean): Buffer | null {
    this.head = undecided ? bytes : null;
    return undecided ? null : bytes;
  }
}

/** A status of 1xx; 101 is none that anybody asked for, and undici refuses it. */
function isInterim(head: Buffer): boolean {
  return /^HTTP\/1\.[01] 1(?!01)\d\d/.test(head.toString('latin1', 0, STATUS_LENGTH));
}

function joined(head: Buffer, chunk: Buffer): Buffer {
  return head.length === 0 ? chunk : Buffer.concat([head, chunk]);
}
