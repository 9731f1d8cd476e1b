import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';

/** A header with a credential, for a partner with its own authentication scheme. */
interface PartnerHeader {
  name: string;
  value: string;
}

/** The way in which the service authenticates to a token endpoint (RFC 6749 §2.3.1, RFC 7523 §2.2). */
export type ClientAuth = 'basic' | 'post' | 'private_key_jwt';

/** The way in which the service authenticates to a partner. */
export type PartnerAuth = { headers?: PartnerHeader[] } & (
  | { type: 'none' }
  | { type: 'headers' }
  | { type: 'basic'; username: string; password: string }
  | { type: 'bearer'; token: string }
  | {
      type: 'oauth2_client_credentials';
      token_url: string;
      client_id: string;
      /** The client secret; absent for `private_key_jwt`. */
      client_secret?: string;
      client_auth?: ClientAuth;
      scope?: string;
      audience?: string;
      resource?: string;
    }
);

export interface PartnerCertificates {
  /** The trusted root certificates, which replace those of Node.js. */
  caPem?: string | null;
  clientCertPem?: string | null;
  clientKeyPem?: string | null;
}

export type PemCode =
  | 'certificate_invalid'
  | 'certificate_expired'
  | 'key_invalid'
  | 'key_mismatch'
  | 'key_missing'
  | 'certificate_missing';

/** The reason why a PEM text may not be saved. Neither `code` nor `message` contains any of the text. */
export class PemError extends Error {
  constructor(
    readonly member: keyof PartnerCertificates,
    readonly code: PemCode,
    detail: string,
  ) {
    super(detail);
  }
}

const certificatePattern = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Parses a text that consists of one or more certificates. Throws `PemError` if it is anything else. */
function assertCertificatePem(member: keyof PartnerCertificates, pem: string): X509Certificate[] {
  const blocks = pem.match(certificatePattern) ?? [];
  // Every part must be readable: OpenSSL skips parts that it cannot read, and would accept an incomplete chain as
  // complete.
  if (blocks.length === 0 || pem.replace(certificatePattern, '').includes('-----')) {
    throw new PemError(member, 'certificate_invalid', 'must be one or more PEM certificates');
  }
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw new PemError(member, 'certificate_invalid', 'has a certificate that cannot be read');
  }
}

/**
 * Checks certificates before they are saved: they must parse, the key must have no passphrase, and it must belong to
 * the first client certificate. Throws `PemError`.
 */
export function assertCertificates({ caPem, clientCertPem, clientKeyPem }: PartnerCertificates): void {
  if (caPem != null) assertCertificatePem('caPem', caPem);
  if (clientCertPem == null && clientKeyPem == null) return;
  if (clientCertPem == null) {
    throw new PemError('clientCertPem', 'certificate_missing', 'is needed with a client key');
  }
  if (clientKeyPem == null) throw new PemError('clientKeyPem', 'key_missing', 'is needed with a client certificate');
  const [certificate] = assertCertificatePem('clientCertPem', clientCertPem);
  if (!certificate.checkPrivateKey(readKey(clientKeyPem))) {
    throw new PemError('clientKeyPem', 'key_mismatch', 'is not the key of the client certificate');
  }
}

/** Checks that a client certificate has not expired when it is saved. Throws `PemError`. */
export function assertNotExpired(clientCertPem: string): void {
  const [certificate] = assertCertificatePem('clientCertPem', clientCertPem);
  // Expiry is checked by the machine's clock, even in a sandbox with a moved clock, because partners use their own
  // clocks.
  if (Date.parse(certificate.validTo) < Date.now()) {
    throw new PemError('clientCertPem', 'certificate_expired', 'has expired');
  }
}

function readKey(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new PemError('clientKeyPem', 'key_invalid', 'must be a PEM private key without a passphrase');
  }
}

/**
 * Returns a context for TLS 1.2 or newer, even if the command line of Node.js allows older versions. Throws for
 * certificates that `assertCertificates` refuses.
 */
export function secureContextOf(certificates: PartnerCertificates): SecureContext {
  // The certificates are checked again, because OpenSSL ignores an unreadable `ca`, and an empty `ca` would restore the
  // system's root certificates.
  assertCertificates(certificates);
  return createSecureContext({
    ca: certificates.caPem ?? undefined,
    cert: certificates.clientCertPem ?? undefined,
    key: certificates.clientKeyPem ?? undefined,
    minVersion: 'TLSv1.2',
  });
}

const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

/** Returns a Basic header with the user name and the password in UTF-8 (RFC 7617). */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${base64(`${username}:${password}`)}`;
}

/** Returns a Basic header whose id and secret are form-encoded (RFC 6749 §2.3.1). */
export function clientAuthorization(clientId: string, clientSecret: string): string {
  return basicAuthorization(formEncoded(clientId), formEncoded(clientSecret));
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/**
 * Returns whether the token consists only of visible ASCII characters, so that it cannot end a header line or a
 * credential (RFC 6750 §2.1).
 */
export function isHeaderSafeToken(token: unknown): token is string {
  return typeof token === 'string' && /^[\x21-\x7e]+$/.test(token);
}

/** Returns all spellings in which a partner could echo the service's credentials, longest first. */
export function secretsOf(auth: PartnerAuth): string[] {
  const ofHeaders = (auth.headers ?? []).flatMap(({ value }) => [...spellings(value), ...credentialOf(value)]);
  return [...ofType(auth), ...ofHeaders].sort((a, b) => b.length - a.length);
}

function ofType(auth: PartnerAuth): string[] {
  switch (auth.type) {
    case 'none':
    case 'headers':
      return [];
    case 'basic':
      return spellings(auth.password, basicAuthorization(auth.username, auth.password));
    case 'bearer':
      return spellings(auth.token);
    case 'oauth2_client_credentials':
      return auth.client_secret === undefined
        ? []
        : spellings(auth.client_secret, clientAuthorization(auth.client_id, auth.client_secret));
  }
}

/**
 * Returns the spellings of the credential in a value such as `ApiKey 0123456789`. The scheme's name is left out,
 * because a partner may echo the credential alone.
 */
function credentialOf(value: string): string[] {
  const [, credential] = /^[A-Za-z][\w-]* +(\S{8,})$/.exec(value) ?? [];
  return credential === undefined ? [] : spellings(credential);
}

/** The minimum length of a Base64 sequence that is masked. Shorter sequences occur too often by chance. */
const LEAST_LETTERS = 8;

/**
 * Returns a secret as it is, and as it is spelled in JSON, in a form, in a Basic header and in a byte dump.
 * `partner-excerpt.ts` handles spellings that replace only some characters (HTML, percent-encoding, JSON).
 */
export function spellings(secret: string, authorization?: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const texts = new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    formEncoded(secret),
    encodeURIComponent(secret),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    ...withinBase64(bytes),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
  ]);
  if (authorization !== undefined) texts.add(authorization.replace('Basic ', ''));
  return [...texts].filter((text) => text !== '').sort((a, b) => b.length - a.length);
}

/** Returns the Base64 characters that encode the bytes inside a longer text, for each of the three possible offsets. */
function withinBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
    // Base64 characters that also depend on a neighbouring byte are omitted.
    const [from, to] = [Math.ceil((8 * offset) / 6), Math.floor((8 * shifted.length) / 6)];
    return to - from < LEAST_LETTERS
      ? []
      : [shifted.toString('base64'), shifted.toString('base64url')].map((text) => text.slice(from, to));
  });
}
