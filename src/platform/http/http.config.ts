import { isIP } from 'node:net';
import type { EnvironmentReader } from '../environment-reader.js';
import { isNetwork } from '../networks.js';

/** The settings of the HTTP listener and of the service's address. */
export class HttpConfig {
  readonly port: number;
  readonly host: string;
  readonly basePath: string;
  /** The value of the `BASE_URL` setting; null if it is not set. */
  readonly publicUrl: string | null;
  /**
   * The address of the service, without a trailing slash. With `PORT=0`, the address stays empty until the listener has
   * a port.
   */
  baseUrl: string;
  /** The value of Express's `trust proxy` setting: false, the number of proxies, or a list of networks. */
  readonly trustProxy: boolean | number | string;
  readonly securityContact: string | null;

  constructor(read: EnvironmentReader, sandbox: boolean) {
    this.port = read.integer('PORT', 3000, 0, 65535);
    this.host = read.text('HOST', sandbox ? '127.0.0.1' : '0.0.0.0');
    this.basePath = read
      .matching('BASE_PATH', /^(\/[A-Za-z0-9._~-]+)*\/*$/, 'must be a path such as /v1')
      .replace(/\/+$/, '');
    this.publicUrl = read.httpUrl('BASE_URL');
    this.baseUrl = this.publicUrl ?? (this.port === 0 ? '' : this.localUrl(this.port));
    this.trustProxy = trustProxy(read);
    const isContact = /^(mailto:\S+@\S+|https:\/\/\S+|)$/;
    this.securityContact = read.matching('SECURITY_CONTACT', isContact, 'must be a mailto: or https: address') || null;
  }

  /** Completes the address with the port that the operating system chose for `PORT=0`. */
  listensAt(port: number): void {
    if (this.baseUrl === '') this.baseUrl = this.localUrl(port);
  }

  private localUrl(port: number): string {
    return `http://localhost:${port}${this.basePath}`;
  }
}

function trustProxy(read: EnvironmentReader): boolean | number | string {
  const text = read.text('TRUST_PROXY', 'off').toLowerCase();
  if (text === 'off' || text === 'false') return false;
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const networks = text.split(',').map((part) => part.trim());
  const named = ['loopback', 'linklocal', 'uniquelocal'];
  if (networks.every((network) => named.includes(network) || isIP(network) !== 0 || isNetwork(network)))
    return networks.join(',');
  read.fault('TRUST_PROXY', 'must be off, a number of hops, or a list of networks');
  return false;
}
