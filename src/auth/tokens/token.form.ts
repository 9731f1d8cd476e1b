import { isUtf8 } from 'node:buffer';
import type { Request, Response } from 'express';
import { DomainError } from '../../platform/errors.js';
import { readBytes } from '../../platform/http/body-arrival.js';
import { characterFault, text } from '../../platform/validation/rules.js';
import { invalidRequest } from './token.errors.js';

const LIMIT = 16 * 1024;
/**
 * The schema of a form parameter. `Form.get` refuses characters that are not allowed, and the size limit of the body
 * also limits the length of a parameter.
 */
export const PARAMETER = text({ max: LIMIT }).schema;
/**
 * The form parameters that must not be in a URL, because logs and proxies store URLs (RFC 6749 §2.3.1, §4.3.2, RFC 7009
 * §2.1).
 */
const BODY_ONLY = [
  'grant_type',
  'username',
  'password',
  'scope',
  'refresh_token',
  'access_token',
  'token',
  'client_id',
  'client_secret',
];

/**
 * The form parameters of a request to the token service. A parameter with an empty value counts as omitted (RFC 6749
 * §3.2).
 */
export class Form {
  constructor(private readonly values: ReadonlyMap<string, string>) {}

  get(name: string): string | undefined {
    const value = this.values.get(name);
    if (value === undefined || value === '') return undefined;
    if (characterFault(value)) throw invalidRequest(`The parameter ${name} contains characters that are not allowed.`);
    return value;
  }

  /**
   * Returns the value of a required parameter.
   * @throws OAuthError invalid_request when it is missing
   */
  require(name: string): string {
    const value = this.get(name);
    if (value === undefined) throw invalidRequest(`The parameter ${name} is missing.`);
    return value;
  }
}

/**
 * Reads the form of a request to the token service strictly, according to RFC 6749 appendix B.
 * @throws OAuthError invalid_request
 */
export async function readForm(request: Request, response: Response): Promise<Form> {
  const query = new URLSearchParams(request.originalUrl.split('?').slice(1).join('?'));
  const misplaced = BODY_ONLY.find((name) => query.has(name));
  if (misplaced !== undefined) throw invalidRequest(`The parameter ${misplaced} must be sent in the body.`);
  if (!isForm(request.headers['content-type'] ?? ''))
    throw invalidRequest('The body must be sent as application/x-www-form-urlencoded in UTF-8.');
  return parseForm(
    await readBytes(request, response, { limit: LIMIT }).catch((error: unknown) => {
      throw unreadable(error);
    }),
  );
}

function isForm(type: string): boolean {
  const [name, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  return (
    name === 'application/x-www-form-urlencoded' &&
    parameters.length <= 1 &&
    parameters.every((parameter) => /^charset="?utf-8"?$/.test(parameter))
  );
}

function unreadable(error: unknown): Error {
  const kind = error instanceof DomainError ? error.problem.kind : null;
  if (kind === 'too_large') return invalidRequest(`The body has more than ${LIMIT} bytes.`, 413);
  if (kind === 'timed_out') return invalidRequest('The body did not arrive in time.', 408);
  return invalidRequest('The body cannot be read.');
}

/**
 * Parses the body of a request to the token service.
 * @throws OAuthError invalid_request
 */
export function parseForm(bytes: Buffer): Form {
  if (!isUtf8(bytes)) throw invalidRequest('The body is not valid UTF-8.');
  const values = new Map<string, string>();
  for (const pair of bytes.toString('utf8').split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decode(at < 0 ? pair : pair.slice(0, at));
    // Each parameter of a token request may appear only once (RFC 6749 §3.2).
    if (values.has(name)) throw invalidRequest('A parameter is sent more than once.');
    values.set(name, at < 0 ? '' : decode(pair.slice(at + 1)));
  }
  return new Form(values);
}

/**
 * Decodes a form-encoded string strictly. URLSearchParams would replace invalid UTF-8 and accept a `%` that is not part
 * of an escape.
 */
function decode(text: string): string {
  try {
    return formDecode(text);
  } catch {
    throw invalidRequest('The body is not a well-formed form.');
  }
}

/**
 * Decodes a form-encoded string.
 * @throws URIError when the string is not percent-encoded UTF-8
 */
export function formDecode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
