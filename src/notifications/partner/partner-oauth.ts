import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { timeLimit } from '../../platform/time-limit.js';
import { PartnerFault } from './partner-connection.js';
import { clientAuthorization, isHeaderSafeToken, type PartnerAuth } from './partner-credentials.js';
import type { Answer } from './answer-reader.js';
import { retryAfterSeconds } from './retry-after.js';

export type OAuthClient = Extract<PartnerAuth, { type: 'oauth2_client_credentials' }>;

/** Sends a form to the token endpoint; rejects with a `PartnerFault`. */
export type TokenCall = (headers: Record<string, string>, form: string, deadline: number) => Promise<Answer>;

/** Signs the claims of a client assertion with the key of this service (RFC 7523 §3). */
export type AssertionSigner = (claims: Record<string, unknown>) => Promise<string>;

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const ASSERTION_LIFE_S = 120;
const MOST_UNPACKED_BYTES = 64 * 1024;
const UNPACK = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/**
 * ASSUMED_LIFE_S is the lifetime of a token, in seconds, if the response states no lifetime (RFC 6749 §5.1 makes it
 * optional). MAX_LIFE_S is the maximum lifetime.
 */
const ASSUMED_LIFE_S = 300;
const MAX_LIFE_S = 24 * 3600;

/**
 * The time, in milliseconds, for which a failed token endpoint is not called again, however many notifications need a
 * token.
 */
const OUT_MS = 500;
/** The reasons for which a token endpoint counts as failed: no response, or status 429 or 5xx. */
const OUT = /^token_(late|answer_late|(timeout|connect|dns)_|http_(429|5))/;

/**
 * Manages the access token of one subscription (RFC 6749 §4.4). The token is cached until shortly before it expires.
 * Only one token request runs at a time, even if many notifications wait for the token. If the token request fails, the
 * attempts for all of these notifications fail.
 */
export class PartnerToken {
  private current: { token: string; usableUntil: number } | null = null;
  private underWay: Promise<string> | null = null;
  private out: { fault: PartnerFault; until: number } | null = null;

  constructor(
    private readonly client: OAuthClient,
    private readonly call: TokenCall,
    private readonly limitMs: number,
    private readonly signAssertion: AssertionSigner | null = null,
  ) {}

  /**
   * Returns the access token. Rejects with a `PartnerFault`, whose class is `blocked`, or `auth` for any other failure,
   * including a timeout.
   */
  async get(deadline: number): Promise<string> {
    if (this.current && performance.now() < this.current.usableUntil) return this.current.token;
    if (this.out && performance.now() < this.out.until) throw this.out.fault;
    // The token request has its own full time limit, because later attempts that wait for the same token must not fail
    // at the deadline of the first attempt.
    this.underWay ??= this.fetch(performance.now() + this.limitMs)
      .catch((fault: unknown) => {
        if (fault instanceof PartnerFault && OUT.test(fault.reason))
          this.out = { fault, until: performance.now() + OUT_MS };
        throw fault;
      })
      .finally(() => (this.underWay = null));
    return before(deadline, this.underWay);
  }

  /** Drops a token that was refused with 401, unless another attempt has already replaced it. */
  drop(token: string): void {
    if (this.current?.token === token) this.current = null;
  }

  private async fetch(deadline: number): Promise<string> {
    const { scope, audience, resource } = this.client;
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    for (const [name, value] of Object.entries({ scope, audience, resource })) if (value) form.set(name, value);
    const headers: Record<string, string> = {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    };
    await this.authenticate(form, headers);
    const asked = performance.now();
    const answer = await this.call(headers, form.toString(), deadline).catch((error: unknown) => {
      if (!(error instanceof PartnerFault)) throw error;
      const failure = error.failure === 'blocked' ? 'blocked' : 'auth';
      throw new PartnerFault(failure, `token_${error.failure}_${error.reason}`);
    });
    const { token, lifeS } = await readToken(answer);
    // The token is replaced when a tenth of its lifetime is left, or half a minute if that is shorter. The lifetime is
    // counted from the token request.
    const usableS = lifeS - Math.min(30, lifeS / 10);
    this.current = { token, usableUntil: asked + usableS * 1000 };
    return token;
  }

  private async authenticate(form: URLSearchParams, headers: Record<string, string>): Promise<void> {
    const { client_id, client_secret = '', client_auth = 'basic', token_url } = this.client;
    if (client_auth === 'basic') {
      headers.authorization = clientAuthorization(client_id, client_secret);
      return;
    }
    form.set('client_id', client_id);
    if (client_auth === 'post') {
      form.set('client_secret', client_secret);
      return;
    }
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: client_id, sub: client_id, aud: token_url, jti: randomUUID(), iat: now };
    const assertion = await this.signAssertion?.({ ...claims, exp: now + ASSERTION_LIFE_S }).catch(() => undefined);
    if (assertion === undefined) throw new PartnerFault('auth', 'assertion_not_signed');
    form.set('client_assertion_type', ASSERTION_TYPE);
    form.set('client_assertion', assertion);
  }
}

async function readToken(answer: Answer): Promise<{ token: string; lifeS: number }> {
  if (answer.ending === 'late') throw new PartnerFault('auth', 'token_answer_late');
  if (answer.status !== 200) {
    const retryAfterS = retryAfterSeconds(answer.retryAfter, Date.now());
    throw new PartnerFault('auth', `token_http_${answer.status}`, null, retryAfterS);
  }
  if (answer.ending !== 'complete') throw new PartnerFault('auth', `token_answer_${answer.ending}`);
  const fields = parseObject((await unpacked(answer)).toString('utf8'));
  if (fields === null) throw new PartnerFault('auth', 'token_answer_malformed');
  if (typeof fields.token_type !== 'string' || fields.token_type.toLowerCase() !== 'bearer') {
    throw new PartnerFault('auth', 'token_type_unknown');
  }
  if (!isHeaderSafeToken(fields.access_token)) throw new PartnerFault('auth', 'token_malformed');
  // A missing lifetime is allowed (RFC 6749 §5.1); a negative or non-numeric lifetime is an error of the token
  // endpoint.
  const life = Number(fields.expires_in ?? ASSUMED_LIFE_S);
  if (!(life >= 0)) throw new PartnerFault('auth', 'token_expires_in_invalid');
  return { token: fields.access_token, lifeS: Math.min(life, MAX_LIFE_S) };
}

/** Returns the body without its content coding. The service requests no content coding, but some gateways add one. */
async function unpacked({ body, coding }: Answer): Promise<Buffer> {
  if (coding === null) return body;
  const unpack = Object.hasOwn(UNPACK, coding) ? UNPACK[coding as keyof typeof UNPACK] : undefined;
  if (unpack === undefined) throw new PartnerFault('auth', 'token_answer_encoded');
  return unpack(body, { maxOutputLength: MOST_UNPACKED_BYTES }).catch(() => {
    throw new PartnerFault('auth', 'token_answer_encoded');
  });
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function before<T>(deadline: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new PartnerFault('auth', 'token_late'));
    const timer = timeLimit(deadline - performance.now(), late);
    // If the process was paused, the token may arrive long after the deadline. The attempt must then not use the token.
    const inTime = (value: T) => (performance.now() < deadline ? resolve(value) : late());
    promise.then(inTime, reject).finally(() => clearTimeout(timer));
  });
}
