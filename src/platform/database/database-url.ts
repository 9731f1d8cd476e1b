import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

const DEFAULT_PORT = 5432;
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof MODES)[number];

/** Parameters of libpq that are accepted, but have no effect on this service. */
const WITHOUT_EFFECT = new Set([
  'channel_binding',
  'client_encoding',
  'connect_timeout',
  'fallback_application_name',
  'gssencmode',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'load_balance_hosts',
  'tcp_user_timeout',
  'uselibpqcompat',
]);

/** A host and port to which to connect. A host that begins with `/` is the folder of a Unix socket. */
export interface DatabaseHost {
  readonly host: string;
  readonly port: number;
}

/** The parts of `DATABASE_URL`, with the meanings that libpq defines. */
export interface DatabaseAddress {
  readonly hosts: readonly DatabaseHost[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly sslMode: SslMode;
  /** The TLS options of connections; {@link sslMode} decides which connections use TLS. */
  readonly tls: ConnectionOptions;
  /** Whether read-only servers are skipped when a server is chosen. */
  readonly readWriteOnly: boolean;
  /**
   * The settings from the `options` parameter. The settings are applied after connecting, because poolers refuse them
   * as start-up parameters.
   */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Matches `postgres://user:password@host:port,host:port/database?parameter=value`. A regular expression is needed,
 * because a URL with a list of hosts is not a valid WHATWG URL.
 */
const FORM = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/**
 * Parses `DATABASE_URL`.
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 * @throws Error with a message that is meant to follow the name of the setting, and that quotes nothing from the URL
 * except names of parameters
 */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  const [, login, authority = '', path = '', query = ''] = FORM.exec(url) ?? refuse('must be a postgres:// URL');
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!KNOWN.has(name) && !WITHOUT_EFFECT.has(name)) refuse(`has a parameter that PostgreSQL does not know: ${name}`);
    parameters.set(name, value);
  }
  const [user, password] = loginOf(login);
  const sslMode = parameters.get('sslmode') ?? 'prefer';
  if (!isMode(sslMode)) refuse(`must have one of ${MODES.join(', ')} as its sslmode`);
  const target = parameters.get('target_session_attrs') ?? 'any';
  if (!['any', 'read-write', 'primary'].includes(target))
    refuse('must have read-write as its target_session_attrs: the service writes');
  const hosts = hostsOf(authority, parameters);
  return {
    hosts,
    user: parameters.get('user') ?? user,
    password: parameters.get('password') ?? password,
    database: parameters.get('dbname') ?? (path === '' ? undefined : decoded(path)),
    sslMode: hosts.every(({ host }) => host.startsWith('/')) ? 'disable' : sslMode,
    tls: tlsOf(sslMode, parameters),
    readWriteOnly: target !== 'any' || hosts.length > 1,
    settings: settingsOf(parameters.get('options') ?? ''),
  };
}

const KNOWN = new Set([
  'application_name',
  'dbname',
  'host',
  'options',
  'password',
  'port',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'target_session_attrs',
  'user',
]);

function loginOf(login: string | undefined): [string?, string?] {
  if (login === undefined) return [];
  const colon = login.indexOf(':');
  if (colon === -1) return [decoded(login)];
  return [decoded(login.slice(0, colon)), decoded(login.slice(colon + 1))];
}

function hostsOf(authority: string, parameters: ReadonlyMap<string, string>): DatabaseHost[] {
  const named = parameters.get('host');
  const ports = parameters.get('port')?.split(',') ?? [];
  const places = named === undefined ? authority.split(',') : named.split(',');
  return places.map((place, index) => {
    const bracketed = /^\[([^\]]+)\](?::(.*))?$/.exec(place);
    const [, host = '', port = ''] = bracketed ?? /^([^:]*)(?::(.*))?$/.exec(place) ?? refuse('has an invalid host');
    const number = port || (ports[index] ?? ports.at(-1)) || String(DEFAULT_PORT);
    if (!/^\d{1,5}$/.test(number) || Number(number) < 1 || Number(number) > 65_535)
      refuse('must have ports from 1 to 65535');
    return { host: decoded(host) || 'localhost', port: Number(number) };
  });
}

/**
 * Returns the TLS options. With `sslmode=require`, connections are encrypted, but the server's certificate is verified
 * only if a root certificate is given. Only `verify-full` compares the host name with the certificate.
 */
function tlsOf(mode: SslMode, parameters: ReadonlyMap<string, string>): ConnectionOptions {
  const root = parameters.get('sslrootcert');
  const verifies = mode.startsWith('verify') || (mode === 'require' && root !== undefined);
  return {
    rejectUnauthorized: verifies,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    // For `sslrootcert`, the value `system` means the certificate authorities that Node.js trusts.
    ...(root === undefined || root === 'system' ? {} : { ca: fileOf('sslrootcert', root) }),
    ...(parameters.has('sslcert') ? { cert: fileOf('sslcert', parameters.get('sslcert')!) } : {}),
    ...(parameters.has('sslkey') ? { key: fileOf('sslkey', parameters.get('sslkey')!) } : {}),
  };
}

function fileOf(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return refuse(`names a file that cannot be read as its ${parameter}`);
  }
}

/**
 * Parses the `options` parameter: settings of the forms `-c name=value` and `--name=value`. A `\` escapes a space
 * inside a value.
 */
function settingsOf(options: string): Record<string, string> {
  const words = options.match(/(?:\\.|\S)+/g) ?? [];
  const settings: Record<string, string> = {};
  for (let at = 0; at < words.length; at++) {
    const word = words[at] === '-c' ? (words[++at] ?? '') : words[at].replace(/^(-c|--)/, '');
    const [, name, value] =
      /^([A-Za-z_][\w.-]*)=(.*)$/.exec(word) ?? refuse('must have options of the form -c name=value');
    settings[name.replaceAll('-', '_')] = value.replace(/\\(.)/g, '$1');
  }
  return settings;
}

function isMode(text: string): text is SslMode {
  return (MODES as readonly string[]).includes(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse('must be percent-encoded as URLs are');
  }
}

function refuse(what: string): never {
  throw new Error(what);
}
