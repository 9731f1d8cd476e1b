import { isIP } from 'node:net';
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { AddressBlockedError, dialledHost, notificationsUrl, type PartnerAddressGuard } from './partner-address.js';
import { reasonOf } from './fault-reason.js';
import { secureContextOf } from './partner-credentials.js';
import type { PartnerEndpoint } from './partner-client.js';
import type { AddressLookup } from './partner-names.js';

/** The maximum number of certificates in the inspection's report; longer chains are truncated. */
const MOST_CERTIFICATES = 10;

interface SeenCertificate {
  subject: string;
  issuer: string;
  not_before: string | null;
  not_after: string | null;
  /** The SHA-256 fingerprint of the certificate, in hexadecimal with colons. */
  fingerprint: string;
}

/** The result of inspecting a partner's name, connection and certificate before the first request is sent. */
export interface Inspection {
  host: string;
  addresses: string[];
  /** The reason code if the host name cannot be resolved, or if one of its addresses is not allowed; null otherwise. */
  nameFault: string | null;
  address: string | null;
  connectFault: string | null;
  protocol: string | null;
  cipher: string | null;
  certificates: SeenCertificate[];
  /**
   * The reason why the certificate is not accepted or the handshake failed. Null if the certificate is accepted, or was
   * not received.
   */
  tlsFault: string | null;
}

/**
 * Inspects a partner's name, address and certificates, with the same checks as a delivery attempt. The handshake is
 * completed even if the certificate is not accepted, so that the report can show the certificate. Nothing is sent over
 * the connection.
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
      // RFC 6066 §3: the server name is never an IP address.
      servername: isIP(host) === 0 ? host : '',
      secureContext: secureContextOf(endpoint),
      // The certificate is only shown. `authorized` says whether a delivery attempt would accept it.
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

/**
 * Returns a name as `CN=…, O=…`. The partner chooses the text, so control characters are replaced and a long text is
 * cut.
 */
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
