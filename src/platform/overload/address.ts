import { isIPv4, isIPv6 } from 'node:net';
import type { Request } from 'express';

declare const OF_A_CLIENT: unique symbol;

/**
 * The network by which limits and records identify a client: an IPv4 address, or the /64 of an IPv6 address, because a
 * host can choose any address of its /64. Only this file creates values of this type, so no other code can count
 * requests by the raw text of an address.
 */
export type ClientNetwork = string & { readonly [OF_A_CLIENT]: true };

const BRACKETED = /^\[([^\]]*)\](?::\d+)?$/;
const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
/**
 * Matches an IPv6 address of eight groups, followed by a port. A shorter address with a port is not matched, because
 * the port then looks like the last group of a different address, which is in the same /64.
 */
const IPV6_WITH_PORT = /^((?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}):\d+$/i;
const MAPPED_IPV4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;
const UNKNOWN = 'unknown' as ClientNetwork;

/**
 * Returns the network of the client. The entries of `X-Forwarded-For` are used as far as `TRUST_PROXY` trusts them.
 * Some gateways add ports and brackets (Azure, IIS), or write words such as `unknown`. For an entry without an address,
 * the address of the proxy that wrote the entry is used.
 */
export function networkOf(request: Request): ClientNetwork {
  const forwarded = request.headers['x-forwarded-for'];
  // The ports are removed, because Express compares the entries with the trusted networks and does not recognize an
  // address with a port.
  if (typeof forwarded === 'string')
    request.headers['x-forwarded-for'] = forwarded
      .split(',')
      .map((entry) => addressIn(entry) ?? entry.trim())
      .join(', ');
  for (const entry of request.ips) {
    const network = networkIn(entry);
    if (network !== null) return network;
  }
  return networkOfPeer(request.socket.remoteAddress);
}

/** Returns the network of the peer of a connection. The connection may already be closed. */
export function networkOfPeer(remoteAddress: string | undefined): ClientNetwork {
  return networkIn(remoteAddress ?? '') ?? UNKNOWN;
}

/** Returns the network of an address that a gateway or a socket has written; null for any other text. */
export function networkIn(text: string): ClientNetwork | null {
  const address = addressIn(text);
  if (address === null || isIPv4(address)) return address as ClientNetwork | null;
  const [front = [], back = []] = address
    .split('::')
    .map((groups) => groups.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - front.length - back.length).fill('0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':') as ClientNetwork;
}

/**
 * Returns the canonical form of the address that the text contains, without a port, brackets or a zone; null if the
 * text contains no address.
 */
function addressIn(text: string): string | null {
  const trimmed = text.trim();
  const written = (BRACKETED.exec(trimmed) ?? IPV4_WITH_PORT.exec(trimmed) ?? IPV6_WITH_PORT.exec(trimmed))?.[1];
  const bare = (written ?? trimmed).replace(/%.*$/, '');
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return null;
  // The URL parser returns every IPv6 address in canonical form, without an IPv4 part at the end.
  const address = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const mapped = MAPPED_IPV4.exec(address);
  return mapped ? ipv4Of(parseInt(mapped[1], 16), parseInt(mapped[2], 16)) : address;
}

function ipv4Of(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
