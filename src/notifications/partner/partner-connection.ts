import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';

import { AddressBlockedError, type AddressLookup, dialledHost, type PartnerAddressGuard } from './partner-address.js';

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

/** A fault of the partner, its network or its settings; `reason` is a short code such as `ECONNREFUSED`, never a text with data in it. */
export class PartnerFault extends Error {
  constructor(
    readonly failure: FailureClass,
    readonly reason: string,
  ) {
    super(`${failure}: ${reason}`);
  }
}

/** The code of an error of Node, OpenSSL or undici. */
export function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && code !== '' ? code : 'unknown';
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
 * 2. the addresses are dialled one after the other, by number, so that no second look-up can answer differently;
 * 3. the address of the open socket is judged again;
 * 4. TLS, with the certificate verified against the host of the URL.
 */
export class PartnerConnector {
  private readonly host: string;
  private readonly port: number;

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
  async open(limitMs: number, signal: AbortSignal): Promise<TLSSocket> {
    const giveUpAt = performance.now() + limitMs;
    const addresses = await this.resolve();
    const tcp = await this.dial(addresses, giveUpAt, signal);
    return this.secure(tcp, signal);
  }

  private async resolve(): Promise<string[]> {
    try {
      const addresses = await this.guard.resolveAllowed(this.host, this.addressLookup);
      if (addresses.length > 0) return addresses;
    } catch (error) {
      if (error instanceof AddressBlockedError) throw new PartnerFault('blocked', 'address_not_allowed');
      throw new PartnerFault('dns', reasonOf(error));
    }
    throw new PartnerFault('dns', 'no_address');
  }

  private async dial(addresses: string[], giveUpAt: number, signal: AbortSignal): Promise<Socket> {
    let fault = new PartnerFault('connect', 'unknown');
    for (const [index, address] of addresses.entries()) {
      if (signal.aborted) break;
      // A silent first address leaves the others their share of the time.
      const share = Math.max(1, (giveUpAt - performance.now()) / (addresses.length - index));
      try {
        return await this.dialOne(address, share, signal);
      } catch (error) {
        fault = error instanceof PartnerFault ? error : new PartnerFault('connect', reasonOf(error));
      }
    }
    throw fault;
  }

  private dialOne(address: string, limitMs: number, signal: AbortSignal): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connectTcp({ host: address, port: this.port, noDelay: true, keepAlive: true, signal });
      const late = setTimeout(() => socket.destroy(new PartnerFault('connect', 'ETIMEDOUT')), limitMs);
      socket.once('close', () => clearTimeout(late));
      // The listener stays: an error that nobody listens to would end the process.
      socket.on('error', reject);
      socket.once('connect', () => {
        clearTimeout(late);
        if (this.guard.isAllowed(socket.remoteAddress ?? '')) {
          resolve(socket);
        } else {
          socket.destroy();
          reject(new PartnerFault('blocked', 'address_not_allowed'));
        }
      });
    });
  }

  private secure(tcp: Socket, signal: AbortSignal): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connectTls({
        socket: tcp,
        host: this.host,
        // RFC 6066 §3: no IP literals in the server name.
        servername: isIP(this.host) === 0 ? this.host : '',
        secureContext: this.secureContext,
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
      });
      const abort = () => socket.destroy();
      signal.addEventListener('abort', abort, { once: true });
      socket.on('error', (error) => {
        reject(new PartnerFault(isNetworkFault(error) ? 'connect' : 'tls', reasonOf(error)));
      });
      socket.once('close', () => {
        signal.removeEventListener('abort', abort);
        reject(new PartnerFault('connect', 'closed'));
      });
      socket.once('secureConnect', () => {
        signal.removeEventListener('abort', abort);
        resolve(socket);
      });
    });
  }
}
