import { isIP } from 'node:net';
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { AddressBlockedError, dialledHost, notificationsUrl, type PartnerAddressGuard } from './partner-address.js';
import { reasonOf } from './partner-connection.js';
import { secureContextOf } from './partner-credentials.js';
import type { PartnerEndpoint } from './partner-client.js';
import type { AddressLookup } from './partner-names.js';

/** Longer chains are truncated in the report. */
const MOST_CERTIFICATES = 10;

interface SeenCertificate {
  subject: string;
  issuer: string;
  not_before: string | null;
  not_after: string | null;
  /** SHA-256, in hex with colons. */
  fingerprint: string;
}

/** The findings about a partner before the first request: name, connection, certificate. */
export interface Inspection {
  host: string;
  addresses: string[];
  /** A code, when the name does not resolve or one of its addresses is refused. */
  nameFault: string | null;
  address: string | null;
  connectFault: string | null;
  protocol: string | null;
  cipher: string | null;
  certificates: SeenCertificate[];
  /**
   * The reason why the certificate is not accepted, or the handshake failed; null when it is accepted, or was not seen.
   */
  tlsFault: string | null;
}

/**
 * Inspects a partner's name, address and certificates like an attempt. The connection is closed after the handshake.
 * Nothing is ever sent over it, so that a rejected certificate can be shown.
 */
export async function inspectPartner(
  endpoint: PartnerEndpoint,
  guard: PartnerAddressGuard,
  lookup: AddressLookup,
  signal: AbortSignal,
): Promise<Inspection> {
  const url = notificationsUrl(endpoint.url);
  const host = dialledHost(url);
  const seen: Inspection = {
    host,
    addresses: [],
    nameFault: null,
    address: null,
    connectFault: null,
    protocol: null,
    cipher: null,
    certificates: [],
    tlsFault: null,
  };
  try {
    seen.addresses = await guard.resolveAllowed(host, lookup, signal);
    if (seen.addresses.length === 0) seen.nameFault = 'no_address';
  } catch (error) {
    seen.nameFault = error instanceof AddressBlockedError ? 'address_not_allowed' : reasonOf(error);
  }
  const [address] = seen.addresses;
  if (address === undefined) return seen;
  seen.address = address;
  await new Promise<void>((resolve) => {
    let connected = false;
    const socket = connect({
      host: address,
      port: Number(url.port || 443),
      // RFC 6066 §3: no IP literals in the server name.
      servername: isIP(host) === 0 ? host : '',
      secureContext: secureContextOf(endpoint),
      // For display only: `authorized` says whether an attempt would accept the certificate.
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      checkServerIdentity: () => undefined,
    });
    const abort = () => socket.destroy();
    signal.addEventListener('abort', abort, { once: true });
    socket.once('connect', () => {
      connected = guard.isAllowed(socket.remoteAddress ?? '');
      if (connected) return;
      seen.connectFault = 'address_not_allowed';
      socket.destroy();
    });
    socket.once('secureConnect', () => {
      describe(socket, seen);
      socket.end();
      socket.destroy();
    });
    socket.on('error', (error) => {
      if (connected) seen.tlsFault ??= reasonOf(error);
      else seen.connectFault ??= reasonOf(error);
    });
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
      if (signal.aborted && seen.protocol === null) {
        if (connected) seen.tlsFault ??= 'ETIMEDOUT';
        else seen.connectFault ??= 'ETIMEDOUT';
      }
      resolve();
    });
  });
  return seen;
}

function describe(socket: TLSSocket, seen: Inspection): void {
  seen.protocol = socket.getProtocol();
  seen.cipher = socket.getCipher().name;
  if (!socket.authorized) seen.tlsFault = String(socket.authorizationError);
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  const shown = new Set<string>();
  while (certificate?.fingerprint256 && !shown.has(certificate.fingerprint256) && shown.size < MOST_CERTIFICATES) {
    shown.add(certificate.fingerprint256);
    seen.certificates.push({
      subject: nameOf(certificate.subject),
      issuer: nameOf(certificate.issuer),
      not_before: momentOf(certificate.valid_from),
      not_after: momentOf(certificate.valid_to),
      fingerprint: certificate.fingerprint256,
    });
    certificate = certificate.issuerCertificate;
  }
}

/** Returns `CN=…, O=…`: the partner's text without characters that do not fit in a line. */
function nameOf(name: object | undefined): string {
  const parts = Object.entries(name ?? {}).map(([key, value]) => `${key}=${String(value)}`);
  return parts
    .join(', ')
    .replace(/[\u0000-\u001f\u007f-\u009f\ud800-\udfff]/g, '\u{fffd}')
    .slice(0, 500);
}

function momentOf(text: string): string | null {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? null : `${moment.toISOString().slice(0, 19)}Z`;
}
