import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';

import { errors } from 'undici';
import { timeLimit } from '../../platform/time-limit.js';
import { AddressBlockedError, dialledHost, type PartnerAddressGuard } from './partner-address.js';
import type { AddressLookup } from './partner-names.js';
import { TriedAddresses } from './tried-addresses.js';

/** RFC 8305 §5: how long the next address waits for the one before. */
const ATTEMPT_DELAY_MS = 250;
/** How long it waits for the TLS handshake of one that has taken the connection. */
const HANDSHAKE_DELAY_MS = 1_000;
/** Probes of TCP after so long keep NATs from forgetting a connection, and find within some ten seconds more that it is dead. */
const KEEP_ALIVE_MS = 10_000;
/** A resumed session vouches for the certificate that it began with: for as long as a connection is used. */
const SESSION_MS = 60_000;

/** An open connection, and when on the clock of this process the certificate was verified that it goes by. */
export interface OpenConnection {
  socket: TLSSocket;
  verifiedAt: number;
}

/** Why an attempt failed, as it is stored and shown to operators. */
export type FailureClass =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'auth'
  | 'redirect'
  | 'client_error'
  | 'server_error'
  | 'protocol'
  | 'blocked';

/**
 * A fault of the partner, its network or its settings; `reason` is a short code such as `ECONNREFUSED`, never a text with data in
 * it, and `said` the beginning of an answer that is no HTTP.
 */
export class PartnerFault extends Error {
  constructor(
    readonly failure: FailureClass,
    readonly reason: string,
    readonly said: Buffer | null = null,
  ) {
    super(`${failure}: ${reason}`);
  }
}

/** Of two faults of one attempt the one that says more: of an address that takes connections. */
function graver(one: PartnerFault | null, other: PartnerFault): PartnerFault {
  return one === null || one.failure === 'connect' ? other : one;
}

/** The request could have gone on its way, and the caller said no: nothing was sent. */
export class AttemptNotBegun extends Error {}

/** The code of an error of Node, OpenSSL or undici. */
export function reasonOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && code !== '' ? code : (syntaxReason(error) ?? 'unknown');
}

/** `invalid_character_in_chunk_size`: undici gives an error of its parser no code, but says in brackets what was wrong. */
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

/** Faults of the connection itself, as against those of what is said over it. */
export function isNetworkFault(error: unknown): boolean {
  const code = reasonOf(error);
  return networkCodes.has(code) || code === 'UND_ERR_SOCKET';
}

/** TLS alerts also come after the handshake: with TLS 1.3 a partner refuses a client certificate only then. */
export function isTlsFault(error: unknown): boolean {
  return /^(ERR_SSL|ERR_TLS|EPROTO)/.test(reasonOf(error));
}

/**
 * Opens verified TLS connections to one origin. In this order, and never otherwise:
 * 1. the name is resolved and every address of the answer is judged by the guard;
 * 2. the addresses are dialled by number, so that no second look-up can answer differently; the next one a quarter of a
 *    second after the one before, a second after that was open, or when it has failed; the first one with TLS wins (RFC 8305
 *    §5), and addresses that failed or lost though they had begun before are tried last for some minutes;
 * 3. the address of each open socket is judged again;
 * 4. TLS, with the certificate verified against the host of the URL; a session that began so is resumed for some minutes.
 */
export class PartnerConnector {
  private readonly host: string;
  private readonly port: number;
  private readonly addresses = new TriedAddresses();
  private session: { ticket: Buffer; verifiedAt: number } | null = null;
  /** When the certificate that was shown last ends. */
  certificateNotAfter: Date | null = null;

  constructor(
    origin: URL,
    private readonly secureContext: SecureContext,
    private readonly guard: PartnerAddressGuard,
    private readonly addressLookup: AddressLookup,
  ) {
    this.host = dialledHost(origin);
    this.port = Number(origin.port || 443);
  }

  /** Rejects with a `PartnerFault`; the abort of the signal closes whatever is half open. */
  async open(limitMs: number, signal: AbortSignal): Promise<OpenConnection> {
    const giveUpAt = performance.now() + limitMs;
    const addresses = this.addresses.inOrder(await this.resolve(signal));
    return this.race(addresses, giveUpAt - performance.now(), signal);
  }

  private async resolve(signal: AbortSignal): Promise<string[]> {
    try {
      const addresses = await this.guard.resolveAllowed(this.host, this.addressLookup, signal);
      if (addresses.length > 0) return addresses;
    } catch (error) {
      if (error instanceof AddressBlockedError) throw new PartnerFault('blocked', 'address_not_allowed');
      throw new PartnerFault('dns', reasonOf(error));
    }
    throw new PartnerFault('dns', 'no_address');
  }

  private race(addresses: string[], limitMs: number, signal: AbortSignal): Promise<OpenConnection> {
    return new Promise((resolve, reject) => {
      const tries = new Map<string, AbortController>();
      const left = [...addresses];
      const handshakeMs = Math.min(HANDSHAKE_DELAY_MS, limitMs / 4);
      let fault: PartnerFault | null = null;
      let delay: NodeJS.Timeout | undefined;
      const end = () => {
        clearTimeout(late);
        clearTimeout(delay);
        signal.removeEventListener('abort', giveUp);
        left.length = 0;
        for (const stop of tries.values()) stop.abort();
        tries.clear();
      };
      const nextIn = (ms: number) => {
        clearTimeout(delay);
        delay = setTimeout(next, ms);
      };
      const next = () => {
        clearTimeout(delay);
        const address = left.shift();
        if (address === undefined) return;
        const stop = new AbortController();
        const isNewest = () => [...tries.keys()].at(-1) === address;
        tries.set(address, stop);
        nextIn(ATTEMPT_DELAY_MS);
        this.connectTo(address, stop.signal, () => isNewest() && nextIn(handshakeMs)).then(
          (connection) => {
            if (!tries.has(address)) return void connection.socket.destroy();
            const [...tried] = tries.keys();
            this.addresses.worked(address, tried.slice(0, tried.indexOf(address)));
            tries.delete(address);
            end();
            resolve(connection);
          },
          (failed: PartnerFault) => {
            if (!tries.delete(address)) return;
            this.addresses.failed([address]);
            fault = graver(fault, failed);
            if (left.length > 0) return next();
            if (tries.size > 0) return;
            end();
            reject(fault);
          },
        );
      };
      const giveUp = () => {
        this.addresses.failed([...tries.keys()]);
        end();
        reject(new PartnerFault('connect', 'ETIMEDOUT'));
      };
      const late = timeLimit(limitMs, giveUp);
      signal.addEventListener('abort', giveUp, { once: true });
      if (signal.aborted) giveUp();
      else next();
    });
  }

  private async connectTo(address: string, signal: AbortSignal, dialled: () => void): Promise<OpenConnection> {
    const tcp = await this.dial(address, signal);
    dialled();
    return this.secure(tcp, signal);
  }

  private dial(address: string, signal: AbortSignal): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const keepAlive = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
      const socket = connectTcp({ host: address, port: this.port, noDelay: true, ...keepAlive });
      const abort = () => {
        socket.destroy();
        reject(new PartnerFault('connect', 'ETIMEDOUT'));
      };
      signal.addEventListener('abort', abort, { once: true });
      // The listener stays: an error that nobody listens to would end the process.
      socket.on('error', (error) => {
        signal.removeEventListener('abort', abort);
        reject(new PartnerFault('connect', reasonOf(error)));
      });
      socket.once('connect', () => {
        signal.removeEventListener('abort', abort);
        if (this.guard.isAllowed(socket.remoteAddress ?? '')) return resolve(socket);
        socket.destroy();
        reject(new PartnerFault('blocked', 'address_not_allowed'));
      });
    });
  }

  /**
   * From here on `tcp` is the TLS socket's: to end it first would free TLS at once, also while it calls us, and Node would
   * die of it.
   */
  private secure(tcp: Socket, signal: AbortSignal): Promise<OpenConnection> {
    return new Promise((resolve, reject) => {
      const session = this.session && performance.now() - this.session.verifiedAt < SESSION_MS ? this.session : null;
      const socket = connectTls({
        socket: tcp,
        host: this.host,
        // RFC 6066 §3: no IP literals in the server name.
        servername: isIP(this.host) === 0 ? this.host : '',
        secureContext: this.secureContext,
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
        ...(session ? { session: session.ticket } : {}),
      });
      // Of a resumed session no younger one is taken: its certificate was not verified anew.
      socket.on('session', (ticket: Buffer) => {
        if (!socket.isSessionReused()) this.session = { ticket, verifiedAt: performance.now() };
      });
      const abort = () => socket.destroy();
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      let isOpen = false;
      socket.on('error', (error) => {
        // How a connection ends that was there says nothing of its session, unless it is TLS that refuses.
        if (!isOpen || isTlsFault(error)) this.session = null;
        reject(new PartnerFault(isNetworkFault(error) ? 'connect' : 'tls', reasonOf(error)));
      });
      socket.once('close', () => {
        signal.removeEventListener('abort', abort);
        reject(new PartnerFault('connect', 'closed'));
      });
      socket.once('secureConnect', () => {
        isOpen = true;
        signal.removeEventListener('abort', abort);
        const { valid_to: notAfter } = socket.getPeerCertificate() as { valid_to?: string };
        if (notAfter !== undefined) this.certificateNotAfter = new Date(notAfter);
        const verifiedAt = session !== null && socket.isSessionReused() ? session.verifiedAt : performance.now();
        resolve({ socket, verifiedAt });
      });
    });
  }
}
