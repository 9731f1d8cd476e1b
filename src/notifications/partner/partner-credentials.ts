import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';

/** A header with a credential, for a partner's own scheme. */
interface PartnerHeader {
  name: string;
  value: string;
}

/** The service's authentication at a token endpoint (RFC 6749 §2.3.1, RFC 7523 §2.2). */
export type ClientAuth = 'basic' | 'post' | 'private_key_jwt';

/** The service's authentication at a partner. */
export type PartnerAuth = { headers?: PartnerHeader[] } & (
  | { type: 'none' }
  | { type: 'headers' }
  | { type: 'basic'; username: string; password: string }
  | { type: 'bearer'; token: string }
  | {
      type: 'oauth2_client_credentials';
      token_url: string;
      client_id: string;
      /** Absent with `private_key_jwt`. */
      client_secret?: string;
      client_auth?: ClientAuth;
      scope?: string;
      audience?: string;
      resource?: string;
    }
);

export interface PartnerCertificates {
  /** Replaces Node.js's root certificates. */
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

/** A PEM that may not be saved; neither `code` nor `message` contains any of it. */
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

/** Parses one or more certificates with nothing else between them. Throws `PemError`. */
function assertCertificatePem(member: keyof PartnerCertificates, pem: string): X509Certificate[] {
  const blocks = pem.match(certificatePattern) ?? [];
  // OpenSSL skips unreadable parts; an incomplete chain must not be accepted as complete.
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
 * Checks credentials before they are saved: certificates that parse, a key without a passphrase, and the key of the
 * first client certificate. Throws `PemError`.
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

/** Checks that a client certificate has not expired when it is saved; it may expire later. Throws `PemError`. */
export function assertNotExpired(clientCertPem: string): void {
  const [certificate] = assertCertificatePem('clientCertPem', clientCertPem);
  // Uses the machine's time, because partners use their own clocks, which no sandbox moves.
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
 * Builds a context with TLS 1.2 or newer, however Node was started. Throws on certificates that `assertCertificates`
 * would refuse.
 */
export function secureContextOf(certificates: PartnerCertificates): SecureContext {
  // OpenSSL ignores an unreadable `ca`, and an empty one would restore the system's root certificates.
  assertCertificates(certificates);
  return createSecureContext({
    ca: certificates.caPem ?? undefined,
    cert: certificates.clientCertPem ?? undefined,
    key: certificates.clientKeyPem ?? undefined,
    minVersion: 'TLSv1.2',
  });
}

const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

/** Builds a Basic header with user name and password in UTF-8 (RFC 7617). */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${base64(`${username}:${password}`)}`;
}

/** Builds a Basic header whose id and secret are form-encoded first (RFC 6749 §2.3.1). */
export function clientAuthorization(clientId: string, clientSecret: string): string {
  return basicAuthorization(formEncoded(clientId), formEncoded(clientSecret));
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/**
 * Returns whether the token is one or more visible ASCII characters, which can end neither a header line nor a
 * credential (RFC 6750 §2.1).
 */
export function isHeaderSafeToken(token: unknown): token is string {
  return typeof token === 'string' && /^[\x21-\x7e]+$/.test(token);
}

/** Returns all spellings in which a partner could echo our credentials, longest first. */
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

/** Returns the credential of `ApiKey 0123456789` without the scheme's name: a partner may echo it alone. */
function credentialOf(value: string): string[] {
  const [, credential] = /^[A-Za-z][\w-]* +(\S{8,})$/.exec(value) ?? [];
  return credential === undefined ? [] : spellings(credential);
}

/** Shorter sequences of Base64 letters are too common to be masked. */
const LEAST_LETTERS = 8;

/**
 * Returns a secret as it is, and as JSON, a form, a Basic header or a byte dump would show it. `partner-excerpt.ts`
 * handles spellings that mix replaced characters (HTML, percent-encoding, JSON).
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

/** Returns the Base64 letters of these bytes inside a longer text, at each of the three offsets. */
function withinBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
    // Letters that share bits with a neighbouring byte are left out.
    const [from, to] = [Math.ceil((8 * offset) / 6), Math.floor((8 * shifted.length) / 6)];
    return to - from < LEAST_LETTERS
      ? []
      : [shifted.toString('base64'), shifted.toString('base64url')].map((text) => text.slice(from, to));
  });
}
