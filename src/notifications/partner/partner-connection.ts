import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';

import { timeLimit } from '../../platform/time-limit.js';
import { isNetworkFault, isTlsFault, reasonOf } from './fault-reason.js';
import { AddressBlockedError, dialledHost, type PartnerAddressGuard } from './partner-address.js';
import type { AddressLookup } from './partner-names.js';
import { TriedAddresses } from './tried-addresses.js';

/** The delay, in milliseconds, before the next address is dialled (RFC 8305 §5). */
const ATTEMPT_DELAY_MS = 250;
/** The delay, in milliseconds, before the next address is dialled while the current one is in the TLS handshake. */
const HANDSHAKE_DELAY_MS = 1_000;
/**
 * The interval of TCP keep-alive probes, in milliseconds. The probes keep NATs from dropping a connection, and detect a
 * dead connection within about ten more seconds.
 */
const KEEP_ALIVE_MS = 10_000;
/**
 * The time for which a TLS session can be resumed, in milliseconds. It is limited, because a resumed session relies on
 * an earlier check of the certificate.
 */
const SESSION_MS = 60_000;

/** An open connection, and the time at which its certificate was verified, on the clock of this process. */
export interface OpenConnection {
  socket: TLSSocket;
  verifiedAt: number;
}

/** The class of an attempt's failure. It is stored, and operators see it. */
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
 * A failure that the partner, its network or its settings caused. `reason` is a short code such as `ECONNREFUSED`, and
 * never contains data. `said` is the beginning of a response that is not HTTP.
 */
export class PartnerFault extends Error {
  constructor(
    readonly failure: FailureClass,
    readonly reason: string,
    readonly said: Buffer | null = null,
    /** The number of seconds that a token endpoint asks the service to wait. */
    readonly retryAfterS: number | null = null,
  ) {
    super(`${failure}: ${reason}`);
  }
}

/**
 * Returns the more informative of two failures in one attempt. A failure at an address that accepted the connection is
 * more informative than any other failure.
 */
function graver(one: PartnerFault | null, other: PartnerFault): PartnerFault {
  return one === null || one.failure === 'connect' ? other : one;
}

/** Thrown when the attempt was cancelled before its request was sent. */
export class AttemptNotBegun extends Error {}

/**
 * Opens verified TLS connections to one origin, always in this order:
 *
 * 1. The name is resolved, and the guard checks every address.
 * 2. The resolved IP addresses are dialled instead of the name, so that no second look-up can return different
 *    addresses. The next address is dialled when the previous one has failed, has not connected for a quarter of a
 *    second, or has been in the TLS handshake for a second. The first address that completes the handshake is used (RFC
 *    8305 §5). Addresses that failed, or that were slower although they were dialled earlier, are dialled last for a
 *    few minutes.
 * 3. The guard checks the address of each open socket again.
 * 4. TLS verifies the certificate against the host of the URL; a session is resumed only for a limited time.
 */
export class PartnerConnector {
  private readonly host: string;
  private readonly port: number;
  private readonly addresses = new TriedAddresses();
  private session: { ticket: Buffer; verifiedAt: number } | null = null;
  /** The expiry of the certificate that the partner showed last. */
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

  /** Opens a connection. Rejects with a `PartnerFault`; if the signal aborts, all half-open sockets are closed. */
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
      // The error listener of the socket stays attached, because an error without a listener would end the process.
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
   * Starts TLS. From then on, the TLS socket owns `tcp`. Never destroy `tcp` first: its TLS state would be freed during
   * its own callbacks, and Node.js would crash.
   */
  private secure(tcp: Socket, signal: AbortSignal): Promise<OpenConnection> {
    return new Promise((resolve, reject) => {
      const session = this.session && performance.now() - this.session.verifiedAt < SESSION_MS ? this.session : null;
      const socket = connectTls({
        socket: tcp,
        host: this.host,
        // RFC 6066 §3: the server name of TLS is never an IP address.
        servername: isIP(this.host) === 0 ? this.host : '',
        secureContext: this.secureContext,
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
        ...(session ? { session: session.ticket } : {}),
      });
      // New tickets for a resumed session are ignored, because the certificate is not verified again for such a
      // session.
      socket.on('session', (ticket: Buffer) => {
        if (!socket.isSessionReused()) this.session = { ticket, verifiedAt: performance.now() };
      });
      const abort = () => socket.destroy();
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      let isOpen = false;
      socket.on('error', (error) => {
        // If an open connection fails, its TLS session can still be resumed, unless the failure was a TLS error.
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
