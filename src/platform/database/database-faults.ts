import { ConfigError } from '../environment-reader.js';
import { serversOf } from './database-servers.js';

/**
 * The problems with `DATABASE_URL` and their remedies. A pattern matches an error code of PostgreSQL or Node, or the
 * driver's message.
 */
const FAULTS: readonly [pattern: RegExp, fault: string][] = [
  [
    /^28P01$|password authentication failed|SASL authentication failed|password must be a (non-empty )?string|no such user|user not found/i,
    'names a user or a password that the server does not accept: correct them (characters such as @ : / percent-encoded).',
  ],
  [/^3D000$|no such database/i, 'names a database that does not exist: create it, or correct the name.'],
  [
    /^28000$/,
    'names a user whom the server does not admit from this address: correct the user, its LOGIN right, pg_hba.conf or sslmode.',
  ],
  [
    /^42501$/,
    'names a role that lacks a right: the role that owns the tables runs the SQL of `npm run admin -- grants --role NAME`.',
  ],
  [
    /^3F000$/,
    'names a role that may use no schema of its search_path: grant it USAGE on one, and CREATE for the first start.',
  ],
  [
    /does not support SSL|establishing an SSL connection/,
    'has an sslmode that asks for TLS, which the server does not support: turn it on there, or set sslmode=prefer.',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'has sslmode=verify-full, and the certificate is for another host: name the host as the certificate does, or set sslmode=verify-ca.',
  ],
  [
    /^ERR_OSSL/,
    'has an sslcert or sslkey that cannot be used: each names a PEM file, the key is without a passphrase, and the certificate is of that key.',
  ],
  [
    /CERT|^UNABLE_TO|^ERR_SSL|^ERR_TLS|^EPROTO$|disconnected before secure TLS/,
    'has an sslmode that verifies the certificate, which is not trusted: set sslrootcert to the authority that issued it, or sslmode=require.',
  ],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'names a host that has no address: correct it.'],
  [/^ENOENT$/, 'names a folder without a socket of PostgreSQL: correct the host or the port.'],
  [
    /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/,
    'names a host and port where nothing listens: correct them, or start the server.',
  ],
  [/^25006$/, 'names servers that are all read-only: one must be the primary.'],
  [/^53300$/, 'names a server that has no connection left: raise max_connections, or lower DATABASE_POOL_SIZE.'],
  [/^57P03$/, 'names a server that is starting or stopping: start again when it is ready.'],
  [
    /timeout|^ETIMEDOUT$|Connection terminated|^ECONNRESET$|^EPIPE$/i,
    'names a host and port that do not answer as PostgreSQL does: correct them, or check the programs in between.',
  ],
  // Poolers use the error code 08P01 for their own messages.
  [/^08P01$/, 'names a server that refuses the connection: its log says why.'],
];

/**
 * Errors that indicate a problem with `DATABASE_URL` only if they occur while connecting. A migration may fail with the
 * same codes for other reasons.
 */
const FAULTS_OF_CONNECTING: typeof FAULTS = [
  [/^55000$/, 'names a database that accepts no connections (template0 is one): name another.'],
  [
    /^(42602|42704|22023|55P02)$/,
    'has options that PostgreSQL does not accept: correct their names and values, or leave them out.',
  ],
];

/**
 * Returns the {@link databaseFault} of an error that occurred while connecting. The error codes that only matter while
 * connecting are checked first. Otherwise, the name of an option in PostgreSQL's message, such as `statement_timeout`,
 * could match the pattern of another problem.
 */
export function connectionFault(error: unknown, url: string): ConfigError | null {
  return databaseFault(error, url, [...FAULTS_OF_CONNECTING, ...FAULTS]);
}

/**
 * Describes the problem with `DATABASE_URL` in one line, without any part of the password. Returns null if the error
 * has another cause.
 */
export function databaseFault(error: unknown, url: string, faults = FAULTS): ConfigError | null {
  if (error instanceof ConfigError) return null;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const said = [typeof code === 'string' ? code : '', typeof message === 'string' ? message : ''];
  const found = faults.find(([pattern]) => said.some((text) => pattern.test(text)));
  if (!found) return null;
  const { host, port } = serversOf(url).current;
  const cause = said[0] === '' ? '' : `, ${said[0]}`;
  return new ConfigError([`DATABASE_URL (${host}:${port}${cause}) ${found[1]}`]);
}
