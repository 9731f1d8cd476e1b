import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { parseUrl } from '../../platform/urls.js';
import type { AddressLookup } from './partner-names.js';

export type PartnerUrlCode =
  'url_invalid' | 'url_scheme' | 'url_userinfo' | 'url_query' | 'url_fragment' | 'url_port' | 'url_host';

/** The limits of a label and of a host name (RFC 1035 §2.3.4). */
const LONGEST_LABEL = 63;
const LONGEST_HOST = 253;

/** The reason why a URL may not be saved: a stable `code` and a readable `message`. Neither contains the URL. */
export class PartnerUrlError extends Error {
  constructor(
    readonly code: PartnerUrlCode,
    detail: string,
  ) {
    super(detail);
  }
}

/** Thrown for an address to which the service must not connect. */
export class AddressBlockedError extends Error {
  readonly failure = 'blocked';

  constructor(address: string) {
    super(`${address} is not a public address and is not in PARTNER_ALLOWED_NETWORKS`);
  }
}

/**
 * Parses the URL of a partner, which must use https and have no user name, password, query or fragment. All spellings
 * of an address give the same URL, without trailing slashes. Throws `PartnerUrlError`.
 */
export function parsePartnerUrl(text: string): URL {
  const url = parseHttpsUrl(text);
  if (text.includes('?')) throw new PartnerUrlError('url_query', 'must not have a query');
  url.pathname = url.pathname.replace(/\/+$/, '').replace(/%[0-9a-f]{2}/gi, inOneSpelling);
  return url;
}

/** Returns the normalized spelling of a percent-encoded character (RFC 3986 §6.2.2). */
function inOneSpelling(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase();
}

/**
 * Returns the normalized spelling of a partner's address. An invalid address is returned unchanged. Addresses are
 * checked when they are saved, so an invalid address must have been written directly into the database.
 */
export function spellingOf(address: string): string {
  try {
    return parsePartnerUrl(address).href;
  } catch {
    return address;
  }
}

export function isSameAddress(one: string, other: string): boolean {
  return spellingOf(one) === spellingOf(other);
}

/**
 * Returns whether credentials for one address may also be sent to the other address. Both addresses must have the same
 * host, because the owner of a host owns all its ports and paths.
 */
export function isSameHost(one: string, other: string): boolean {
  return hostOf(one) !== '' && hostOf(one) === hostOf(other);
}

function hostOf(address: string): string {
  return parseUrl(spellingOf(address))?.hostname ?? '';
}

/**
 * Parses the URL of a token endpoint. In contrast to a partner's URL, the URL may have a query (RFC 6749 §3.2), and its
 * path stays unchanged. Throws `PartnerUrlError`.
 */
export function parseTokenUrl(text: string): URL {
  return parseHttpsUrl(text);
}

/** Returns `{partner_url}/notifications`, with exactly one slash between the two. */
export function notificationsUrl(partnerUrl: string): URL {
  return folderUrl(partnerUrl, 'notifications');
}

/** Returns the URL to which changes to records are sent. */
export function changesUrl(partnerUrl: string): URL {
  return folderUrl(partnerUrl, 'changes');
}

function folderUrl(partnerUrl: string, folder: string): URL {
  const url = parsePartnerUrl(partnerUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${folder}`;
  return url;
}

function parseHttpsUrl(text: string): URL {
  // Control characters, blanks and backslashes are refused, because `new URL` silently drops tabs and line breaks, and
  // reads a backslash as a slash: the service would check an address that differs from the text.
  const url = /[\u0000-\u0020\u007f-\u009f\\]/.test(text) ? null : parseUrl(text);
  if (url === null) {
    throw new PartnerUrlError(
      'url_invalid',
      'must be an absolute URL without spaces, control characters or backslashes',
    );
  }
  const authority = /^https:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (url.protocol !== 'https:' || authority === undefined) {
    throw new PartnerUrlError('url_scheme', 'must begin with https://');
  }
  if (authority.includes('@')) throw new PartnerUrlError('url_userinfo', 'must not have a user name or password');
  if (text.includes('#')) throw new PartnerUrlError('url_fragment', 'must not have a fragment');
  if (url.port === '0') throw new PartnerUrlError('url_port', 'must not have the port 0');
  url.hostname = url.hostname.replace(/\.$/, '');
  const labels = url.hostname.split('.');
  if (url.hostname.length > LONGEST_HOST || labels.some(({ length }) => length === 0 || length > LONGEST_LABEL)) {
    throw new PartnerUrlError('url_host', 'must have a host whose parts have 1 to 63 characters, 253 in all');
  }
  return url;
}

/** Returns the host of a URL for connections: an IPv6 address without brackets, or a name without the final dot. */
export function dialledHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

// All networks that IANA's special-purpose registry does not list as globally reachable (RFC 6890), and the address
// from which cloud providers serve metadata.
const refusedIPv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
// Only 2000::/3 is global unicast. The first three networks contain ::, ::1, IPv4-mapped, IPv4-compatible, NAT64,
// unique local, link-local, site-local, multicast and all unassigned addresses. The other networks are special ranges
// inside 2000::/3.
const refusedIPv6 = [
  '::/3',
  '4000::/2',
  '8000::/1',
  '2001::/23', // addresses for Teredo, benchmarking and ORCHID
  '2001:db8::/32',
  '2002::/16', // 6to4 addresses
  '3fff::/20',
];

/**
 * A set of networks of both address families. The families have separate lists, because a common BlockList would also
 * find an IPv4 address in `::/0`.
 */
class Networks {
  private readonly v4 = new BlockList();
  private readonly v6 = new BlockList();

  constructor(list: string[]) {
    for (const network of list) {
      const [address, prefix, ...rest] = network.trim().split('/');
      const family = isIP(address);
      const longest = family === 4 ? 32 : 128;
      const bits = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
      if (family === 0 || rest.length > 0 || !(bits <= longest)) {
        throw new Error(`"${network}" is not a network such as 10.0.0.0/8 or fd00::/8`);
      }
      if (family === 4) this.v4.addSubnet(address, bits, 'ipv4');
      else this.v6.addSubnet(address, bits, 'ipv6');
    }
  }

  has(address: string): boolean {
    return isIPv4(address) ? this.v4.check(address, 'ipv4') : this.v6.check(address, 'ipv6');
  }
}

const refused = new Networks([...refusedIPv4, ...refusedIPv6]);
const nat64 = new Networks(['64:ff9b::/96', '64:ff9b:1::/48']);
const mapped = new Networks(['::ffff:0:0/96']);

/**
 * Returns the last 32 bits of an IPv6 address as an IPv4 address. The function accepts any spelling that `new URL`
 * parses.
 */
function embeddedIPv4(address: string): string {
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':');
  const [high, low] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/**
 * Decides to which IP addresses of partners the service may connect. It checks IP addresses instead of host names. Pass
 * the address of the actual connection, because a name may resolve differently the next time (DNS rebinding).
 */
export class PartnerAddressGuard {
  private readonly allowed: Networks;

  /**
   * Creates the guard.
   * @param allowedNetworks networks, in CIDR notation, that partners may use although they are not part of the public
   * internet
   * @throws Error when one of the networks is invalid
   */
  constructor(allowedNetworks: string[]) {
    this.allowed = new Networks(allowedNetworks);
  }

  isAllowed(ip: string): boolean {
    const address = ip.replace(/%.*$/, '');
    if (isIP(address) === 0) return false;
    // An IPv4-mapped address is dialled over IPv4, so the rules for IPv4 apply.
    if (isIPv6(address) && mapped.has(address)) return this.isAllowed(embeddedIPv4(address));
    if (!refused.has(address)) return true;
    if (!this.allowed.has(address)) return false;
    // The addresses behind a NAT64 gateway are checked separately, even if the gateway is allowed.
    return !nat64.has(address) || this.isAllowed(embeddedIPv4(address));
  }

  /** Throws `AddressBlockedError` for an address that is not allowed. */
  assertAllowed(ip: string): void {
    if (!this.isAllowed(ip)) throw new AddressBlockedError(ip);
  }

  /**
   * Refuses a URL whose host is an IP address that is not allowed, in any spelling that `new URL` accepts. A host name
   * is checked when it is resolved.
   */
  assertUrlAllowed(url: URL): void {
    const host = dialledHost(url);
    if (isIP(host) !== 0) this.assertAllowed(host);
  }

  /**
   * Returns the addresses to dial for a host. If one of its addresses is not allowed, the host is refused. The reasons
   * are that a partner's host name must never point to an internal address, and that the result must not depend on the
   * order of the addresses. Throws `AddressBlockedError`, or the error of the look-up.
   */
  async resolveAllowed(host: string, addressLookup: AddressLookup, signal?: AbortSignal): Promise<string[]> {
    const addresses = isIP(host) === 0 ? await addressLookup(host, signal) : [host];
    for (const address of addresses) this.assertAllowed(address);
    return addresses;
  }
}
