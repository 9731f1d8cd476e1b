import { type HttpModuleOptions, HttpService } from '@nestjs/axios';
import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import type { AxiosRequestConfig } from 'axios' with { 'resolution-mode': 'import' };

import { Puts, type AttemptOutcome } from './attempt-outcome.js';
import { changesUrl, notificationsUrl, parseTokenUrl, PartnerAddressGuard } from './partner-address.js';
import { type FailureClass, PartnerConnector, PartnerFault } from './partner-connection.js';
import {
  basicAuthorization,
  isHeaderSafeToken,
  type PartnerAuth,
  type PartnerCertificates,
  secretsOf,
  secureContextOf,
  spellings,
} from './partner-credentials.js';
import type { Answer } from './answer-reader.js';
import { OWN_HEADERS } from './partner-headers.js';
import { type AddressLookup, systemLookup } from './partner-names.js';
import { type AssertionSigner, PartnerToken } from './partner-oauth.js';
import { IdleConnections, partnerAdapter, PartnerPool, type PartnerRequestConfig } from './partner-transport.js';

export interface PartnerEndpoint extends PartnerCertificates {
  /**
   * A key for the subscription and the settings on which its connections and tokens depend. Connections and tokens are
   * cached under this key.
   */
  key: string;
  /** The `partner_url`; requests go to `{url}/notifications` and `{url}/changes`. */
  url: string;
  auth: PartnerAuth;
  /** Signs client assertions for `private_key_jwt`. */
  signAssertion?: AssertionSigner;
  /**
   * The time limit in milliseconds of a whole attempt, from the name look-up to the last byte, including a token
   * request.
   */
  waitMs: number;
  /** The maximum number of open connections to the partner from this process. */
  connections: number;
}

/**
 * The time without a request, in milliseconds, after which the connections and the token of an endpoint are dropped.
 */
const IDLE_MS = 10 * 60_000;
const TOKEN_CONNECTIONS = 2;

/**
 * The options for `HttpModule.register`: axios uses the partner transport instead of its own, and every status counts
 * as a response.
 */
export const partnerHttpOptions = { adapter: partnerAdapter, validateStatus: null } satisfies HttpModuleOptions;

/** The last segment of a request's URL: `notifications` for events of bookings, `changes` for changes to records. */
export type Folder = 'notifications' | 'changes';

/** The connections, the token and the headers of a partner's endpoint, which are kept between attempts. */
interface Session {
  paths: Record<Folder, string>;
  connector: PartnerConnector;
  pool: PartnerPool;
  tokenPool: PartnerPool | null;
  token: PartnerToken | null;
  /**
   * The headers of every request: the headers in the partner's `auth`, the service's own headers, and the
   * `Authorization` header unless it contains an access token.
   */
  headers: Record<string, string>;
  secrets: string[];
  lastUsed: number;
}

/**
 * Sends all HTTP requests to partners: samples, notifications and token requests. A failure at the partner is returned
 * as an outcome, and never thrown.
 */
@Injectable()
export class PartnerClient implements OnApplicationShutdown {
  private readonly sessions = new Map<string, Session>();
  private readonly sweep = setInterval(() => this.letIdleGo(), 60_000).unref();
  private closed = false;

  constructor(
    private readonly http: HttpService,
    private readonly guard: PartnerAddressGuard,
    @Optional() private readonly addressLookup: AddressLookup = systemLookup,
    @Optional() private readonly idle: IdleConnections = new IdleConnections(),
  ) {}

  /**
   * Sends a notification.
   * @param mayBegin called when the connection is open, before the first byte of the request is written; not called for
   * a repeated request in the same attempt
   * @throws AttemptNotBegun when `mayBegin` returns false
   */
  async put(
    endpoint: PartnerEndpoint,
    headers: Record<string, string>,
    body: string | Buffer,
    mayBegin?: () => boolean,
    folder: Folder = 'notifications',
  ): Promise<AttemptOutcome> {
    if (this.closed) throw new Error('the partner client is closed');
    const start = performance.now();
    const deadline = start + endpoint.waitMs;
    const secrets: string[] = [];
    const puts = new Puts(start, secrets);
    try {
      const session = this.sessionOf(endpoint, start);
      secrets.push(...session.secrets);
      const answer = await this.attempt(session, folder, headers, body, deadline, puts, mayBegin);
      return puts.outcome(answer);
    } catch (error) {
      if (!(error instanceof PartnerFault)) throw error;
      return puts.failed(error);
    }
  }

  /**
   * Returns the expiry of the certificate that the partner showed last over the connections under this key; null if it
   * has not shown one to this process.
   */
  certificateNotAfter(key: string): Date | null {
    return this.sessions.get(key)?.connector.certificateNotAfter ?? null;
  }

  /** Drops the token under a key, and closes the connections under this key when their running attempts have ended. */
  async forget(key: string): Promise<void> {
    const session = this.sessions.get(key);
    this.sessions.delete(key);
    await Promise.all([session?.pool.close(), session?.tokenPool?.close()]);
  }

  /** Waits for the running attempts to all partners. Each attempt has its own deadline. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.sweep);
    await Promise.all([...this.sessions.keys()].map((key) => this.forget(key)));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  private attempt(
    session: Session,
    folder: Folder,
    headers: Record<string, string>,
    body: string | Buffer,
    deadline: number,
    puts: Puts,
    mayBegin: (() => boolean) | undefined,
  ): Promise<Answer> {
    let hasBegun = false;
    const send = (ofToken?: { authorization: string }) =>
      session.pool.send(
        {
          method: 'PUT',
          path: session.paths[folder],
          headers: { ...session.headers, ...headers, ...ofToken },
          body,
          mayBegin: () => (hasBegun ||= mayBegin?.() ?? true),
          onRenewed: (fault) => puts.inVain(fault),
        },
        deadline,
      );
    const { token } = session;
    return token === null ? send() : withToken(token, (authorization) => send({ authorization }), deadline, puts);
  }

  /** Sends a token request with axios. Token requests are rare; for notifications, axios would be too slow. */
  private async post(
    pool: PartnerPool,
    url: string,
    headers: Record<string, string>,
    data: string,
    deadline: number,
  ): Promise<Answer> {
    const config: PartnerRequestConfig = { method: 'POST', url, headers, data, partner: { pool, deadline } };
    const response = await this.http.axiosRef.request<Answer>(config as AxiosRequestConfig);
    return response.data;
  }

  private sessionOf(endpoint: PartnerEndpoint, now: number): Session {
    let session = this.sessions.get(endpoint.key);
    if (session === undefined) {
      session = this.begin(endpoint);
      this.sessions.set(endpoint.key, session);
    }
    session.lastUsed = now;
    return session;
  }

  private begin(endpoint: PartnerEndpoint): Session {
    const { auth, waitMs } = endpoint;
    const url = readable('blocked', 'url_unusable', () => notificationsUrl(endpoint.url));
    const secureContext = readable('tls', 'certificates_unusable', () => secureContextOf(endpoint));
    // The subscription's certificates also apply to the partner's token endpoint, because a bundle in `ca_pem` can
    // contain the root certificates of both hosts. A client certificate is shown only to a verified server that asks
    // for it.
    const connectorOf = (origin: URL) => new PartnerConnector(origin, secureContext, this.guard, this.addressLookup);
    const poolOf = (origin: URL, connector: PartnerConnector, size: number) =>
      new PartnerPool(origin.origin, connector, size, waitMs, this.idle);
    const connector = connectorOf(url);
    const session: Session = {
      paths: { notifications: url.pathname, changes: changesUrl(endpoint.url).pathname },
      connector,
      pool: poolOf(url, connector, endpoint.connections),
      tokenPool: null,
      token: null,
      headers: headersOf(auth),
      secrets: secretsOf(auth),
      lastUsed: 0,
    };
    if (auth.type === 'oauth2_client_credentials') {
      const tokenUrl = readable('auth', 'token_url_unusable', () => parseTokenUrl(auth.token_url));
      const tokenPool = poolOf(tokenUrl, connectorOf(tokenUrl), TOKEN_CONNECTIONS);
      const path = tokenUrl.pathname + tokenUrl.search;
      session.tokenPool = tokenPool;
      session.token = new PartnerToken(
        auth,
        (headers, form, deadline) => this.post(tokenPool, path, { ...OWN_HEADERS, ...headers }, form, deadline),
        waitMs,
        endpoint.signAssertion,
      );
    }
    return session;
  }

  private letIdleGo(): void {
    const idleSince = performance.now() - IDLE_MS;
    for (const [key, session] of this.sessions) {
      if (session.lastUsed < idleSince && !session.pool.busy) void this.forget(key);
    }
  }
}

/**
 * Runs an attempt with an access token. If a cached token is refused with 401, the attempt continues once with a new
 * token.
 */
async function withToken(
  token: PartnerToken,
  send: (authorization: string) => Promise<Answer>,
  deadline: number,
  puts: Puts,
): Promise<Answer> {
  const kept = await token.get(deadline);
  puts.secrets.push(...spellings(kept));
  puts.begin();
  const answer = await send(`Bearer ${kept}`);
  if (answer.status !== 401) return answer;
  token.drop(kept);
  puts.refused(answer);
  const renewed = await token.get(deadline);
  puts.secrets.push(...spellings(renewed));
  puts.begin();
  return send(`Bearer ${renewed}`);
}

/**
 * Returns the headers of a request to the partner. They include the headers in the partner's `auth`, which the token
 * endpoint never receives.
 */
function headersOf(auth: PartnerAuth): Record<string, string> {
  const own: Record<string, string> = {};
  for (const { name, value } of auth.headers ?? []) own[name.toLowerCase()] = value;
  const authorization = authorizationOf(auth);
  return { ...own, ...OWN_HEADERS, ...(authorization === null ? {} : { authorization }) };
}

function authorizationOf(auth: PartnerAuth): string | null {
  if (auth.type === 'basic') return basicAuthorization(auth.username, auth.password);
  if (auth.type !== 'bearer') return null;
  if (!isHeaderSafeToken(auth.token)) throw new PartnerFault('auth', 'token_malformed');
  return `Bearer ${auth.token}`;
}

function readable<T>(failure: FailureClass, reason: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new PartnerFault(failure, reason);
  }
}
