import { errors } from 'undici';

/** The prefixes of error codes that name a library: undici (`UND_`) or its parser (`HPE_`). */
const OF_LIBRARY = /^(UND_|HPE_)/;

/**
 * The service's codes for the errors of undici. The service itself opens the connections and limits their time, so most
 * other errors of undici cannot occur.
 */
const CODES: Record<string, string | undefined> = {
  // undici reports this code when the partner has closed the connection.
  UND_ERR_SOCKET: 'ECONNRESET',
  UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_HEADERS_TIMEOUT: 'no_answer',
  UND_ERR_BODY_TIMEOUT: 'no_answer',
  UND_ERR_HEADERS_OVERFLOW: 'headers_too_long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'content_length_invalid',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'answer_too_long',
  UND_ERR_ABORT: 'closed',
  UND_ERR_ABORTED: 'closed',
  UND_ERR_DESTROYED: 'closed',
  UND_ERR_CLOSED: 'closed',
};

/**
 * Returns a short code for the cause of a failed connection or request: the code of the operating system or of OpenSSL,
 * or a code of this service. The code never names a library.
 */
export function reasonOf(error: unknown): string {
  const syntax = syntaxReason(error);
  if (syntax !== null) return syntax;
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code !== 'string' || code === '') return 'unknown';
  return OF_LIBRARY.test(code) ? (CODES[code] ?? 'unknown') : code;
}

/**
 * Returns a code for an HTTP syntax error in a response, such as `invalid_character_in_chunk_size`; null for any other
 * error. The message of undici's error contains the description in brackets.
 */
export function syntaxReason(error: unknown): string | null {
  if (!(error instanceof errors.HTTPParserError)) return null;
  const [, text = 'invalid'] = /\(([^()]{1,80})\)/.exec(error.message) ?? [];
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
}

const networkCodes = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Returns whether the error concerns the connection itself rather than the data sent over it. */
export function isNetworkFault(error: unknown): boolean {
  return networkCodes.has(reasonOf(error));
}

/** Returns whether the partner closed the connection without an error of the operating system. */
export function isClosedByPartner(error: unknown): boolean {
  return error instanceof errors.SocketError;
}

/**
 * Returns whether the error is a TLS alert. The alert may arrive after the handshake: with TLS 1.3, a partner can
 * refuse a client certificate only after the handshake.
 */
export function isTlsFault(error: unknown): boolean {
  return /^(ERR_SSL|ERR_TLS|EPROTO)/.test(reasonOf(error));
}
