import { PartnerFault } from './partner-connection.js';

/** The maximum size, in bytes, of the headers of a partner's response. */
const MAX_HEADER_BYTES = 64 * 1024;
/** The maximum size, in bytes, of the head of a response, which consists of the status line and the headers. */
export const MAX_HEAD_BYTES = MAX_HEADER_BYTES + 1024;

const SHORTEST_STATUS_LINE = 'HTTP/1.1 200\r';
export const CR = 0x0d;
export const LF = 0x0a;

/**
 * Returns the status of an HTTP/1 response (RFC 9112 §4); null while its status line is incomplete.
 * @throws PartnerFault when the bytes are not a status line
 */
export function statusOf(head: Buffer): number | null {
  const come = head.toString('latin1', 0, SHORTEST_STATUS_LINE.length);
  // The bytes of the status line that have not yet arrived are assumed to be valid.
  const line = come + SHORTEST_STATUS_LINE.slice(come.length);
  if (!line.startsWith('HTTP/')) throw refused('not_http', head);
  if (!/^HTTP\/1\.\d[ \r\n]/.test(line)) throw refused('http_version_unknown', head);
  if (!/^.{8} [1-9]\d\d[ \r\n]/s.test(line)) throw refused('status_invalid', head);
  if (come.length < line.length) return null;
  return Number(line.slice(9, 12));
}

/**
 * Checks that each line of a complete or incomplete head ends with CR LF (RFC 9112 §2.2).
 * @throws PartnerFault
 */
export function assertLineEnds(head: Buffer): void {
  for (let at = head.indexOf(LF); at !== -1; at = head.indexOf(LF, at + 1))
    if (head[at - 1] !== CR) throw refused('line_end_invalid', head);
}

/**
 * Normalizes the head of a response for undici. A folded line becomes one line (RFC 9112 §5.2). Repeated equal values
 * of `Content-Length` become one value (§6.3). A newer minor version becomes 1.1 (RFC 9110 §2.5).
 * @param end the position at which the head ends
 * @throws PartnerFault when the headers are too long, or the length is ambiguous
 */
export function finalHead(answer: Buffer, end: number): Buffer {
  if (end - answer.indexOf(LF) - 1 > MAX_HEADER_BYTES) throw refused('headers_too_long', answer);
  const head = answer.toString('latin1', 0, end);
  const taken = withOneLength(head.replace(/\r\n[ \t]+/g, ' ').replace(/^HTTP\/1\.[2-9]/, 'HTTP/1.1'), answer);
  return taken === head ? answer : Buffer.concat([Buffer.from(taken, 'latin1'), answer.subarray(end)]);
}

const LENGTH_LINE = /\r\nContent-Length:([^\r\n]*)/gi;

function withOneLength(head: string, answer: Buffer): string {
  const lengths = [...head.matchAll(LENGTH_LINE)].flatMap(([, value]) => value.split(',').map((one) => one.trim()));
  if (lengths.length === 0) return head;
  if (lengths.some((length) => !/^\d{1,15}$/.test(length))) throw refused('content_length_invalid', answer);
  if (new Set(lengths).size > 1) throw refused('content_lengths_differ', answer);
  // RFC 9112 §6.3: a response with both `Transfer-Encoding` and `Content-Length` may be an attempt at response
  // splitting, and should be treated as an error.
  if (/\r\nTransfer-Encoding:/i.test(head)) throw refused('content_length_beside_chunks', answer);
  if (lengths.length === 1) return head;
  return head.replace(LENGTH_LINE, '').replace(/\r\n/, `\r\nContent-Length: ${lengths[0]}\r\n`);
}

function refused(reason: string, said: Buffer): PartnerFault {
  return new PartnerFault('protocol', reason, said);
}
