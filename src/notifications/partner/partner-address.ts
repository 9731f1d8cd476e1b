import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import type { AddressLookup } from './partner-names.js';

export type PartnerUrlCode =
  'url_invalid' | 'url_scheme' | 'url_userinfo' | 'url_query' | 'url_fragment' | 'url_port' | 'url_host';

/** RFC 1035 §2.3.4. */
const LONGEST_LABEL = 63;
const LONGEST_HOST = 253;

/** A URL that may not be saved: `code` is stable, `message` is readable; neither repeats the URL. */
export class PartnerUrlError extends Error {
  constructor(
    readonly code: PartnerUrlCode,
    detail: string,
  ) {
    super(detail);
  }
}

/** An address that the service must not connect to. */
export class AddressBlockedError extends Error {
  readonly failure = 'blocked';

  constructor(address: string) {
    super(`${address} is not a public address and is not in PARTNER_ALLOWED_NETWORKS`);
  }
}

/**
 * Parses a partner URL: https, no user information, no query, no fragment. All spellings of one address give the same
 * URL, without trailing slashes. Throws `PartnerUrlError`.
 */
export function parsePartnerUrl(text: string): URL {
  const url = parseHttpsUrl(text);
  if (text.includes('?')) throw new PartnerUrlError('url_query', 'must not have a query');
  url.pathname = url.pathname.replace(/\/+$/, '').replace(/%[0-9a-f]{2}/gi, inOneSpelling);
  return url;
}

/** Normalizes a percent-encoded character (RFC 3986 §6.2.2). */
function inOneSpelling(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase();
}

export function isSameAddress(one: string, other: string): boolean {
  return parsePartnerUrl(one).href === parsePartnerUrl(other).href;
}

/**
 * Returns whether the credentials of one address may be sent to the other: the owner of a host name owns all its ports
 * and paths.
 */
export function isSameHost(one: string, other: string): boolean {
  return parsePartnerUrl(one).hostname === parsePartnerUrl(other).hostname;
}

/**
 * Parses a token URL like a partner URL, but with the query that RFC 6749 §3.2 allows, and with the path unchanged.
 * Throws `PartnerUrlError`.
 */
export function parseTokenUrl(text: string): URL {
  return parseHttpsUrl(text);
}

/** Builds `{partner_url}/notifications` with exactly one slash between the two. */
export function notificationsUrl(partnerUrl: string): URL {
  const url = parsePartnerUrl(partnerUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/notifications`;
  return url;
}

function parseHttpsUrl(text: string): URL {
  // `new URL` silently drops tabs and line breaks and reads a backslash as a slash: the checked address must be the
  // address of the connection.
  if (/[\u0000-\u0020\u007f-\u009f\\]/.test(text) || !URL.canParse(text)) {
    throw new PartnerUrlError(
      'url_invalid',
      'must be an absolute URL without spaces, control characters or backslashes',
    );
  }
  const url = new URL(text);
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

/** Returns the host of a URL for connecting: IPv6 without brackets, a name without the trailing dot. */
export function dialledHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

// IANA special-purpose registries (RFC 6890): everything that is not globally reachable, and the metadata address
// outside them.
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
// Only 2000::/3 is global unicast. The first three contain ::, ::1, IPv4-mapped, IPv4-compatible, NAT64, unique local,
// link-local, site-local, multicast and all unassigned addresses; the rest are special ranges inside it.
const refusedIPv6 = [
  '::/3',
  '4000::/2',
  '8000::/1',
  '2001::/23', // Teredo, benchmarking, ORCHID
  '2001:db8::/32',
  '2002::/16', // 6to4
  '3fff::/20',
];

/** Networks of both families, kept apart: one BlockList would find an IPv4 address in `::/0` too. */
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

/** Returns the last 32 bits of an IPv6 address in dotted form; `new URL` parses every spelling. */
function embeddedIPv4(address: string): string {
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':');
  const [high, low] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/**
 * Decides which addresses a partner may have. It checks addresses rather than names: pass the address of the actual
 * connection, since a name may resolve differently the next time (DNS rebinding).
 */
export class PartnerAddressGuard {
  private readonly allowed: Networks;

  /**
   * @param allowedNetworks CIDR networks, outside the public internet, in which partners may be. Throws on an invalid
   *   one.
   */
  constructor(allowedNetworks: string[]) {
    this.allowed = new Networks(allowedNetworks);
  }

  isAllowed(ip: string): boolean {
    const address = ip.replace(/%.*$/, '');
    if (isIP(address) === 0) return false;
    // An IPv4-mapped address connects by IPv4, so the IPv4 rules apply.
    if (isIPv6(address) && mapped.has(address)) return this.isAllowed(embeddedIPv4(address));
    if (!refused.has(address)) return true;
    if (!this.allowed.has(address)) return false;
    // Allowing a NAT64 gateway does not allow the addresses behind it.
    return !nat64.has(address) || this.isAllowed(embeddedIPv4(address));
  }

  /** Throws `AddressBlockedError`. */
  assertAllowed(ip: string): void {
    if (!this.isAllowed(ip)) throw new AddressBlockedError(ip);
  }

  /**
   * Refuses a host that is an IP literal, in any spelling that `new URL` knows; a name is checked when it is resolved.
   */
  assertUrlAllowed(url: URL): void {
    const host = dialledHost(url);
    if (isIP(host) !== 0) this.assertAllowed(host);
  }

  /**
   * Returns the addresses to connect to for a host. One refused address refuses the name: a partner's name never points
   * inside, and the result must not depend on the order of addresses. Throws `AddressBlockedError`, or the error of the
   * lookup.
   */
  async resolveAllowed(host: string, addressLookup: AddressLookup, signal?: AbortSignal): Promise<string[]> {
    const addresses = isIP(host) === 0 ? await addressLookup(host, signal) : [host];
    for (const address of addresses) this.assertAllowed(address);
    return addresses;
  }
}
