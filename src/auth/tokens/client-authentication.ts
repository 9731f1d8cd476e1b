import { timingSafeEqual } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import type { Scope } from '../../platform/context/caller.js';
import { sha256 } from '../../platform/secrets.js';
import type { Grant } from './application.entity.js';
import { invalidClient } from './token.errors.js';
import { formDecode } from './token.form.js';

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;
const CONSUMER_KEY = /^[A-Z0-9]{20}$/;
/**
 * The hash with which the secret is compared if the application is unknown, so that the comparison takes equally long.
 */
const NO_SECRET = sha256('');

const FIND = prepared(
  'client-find',
  `SELECT consumer_key, secret_hash, scopes, grants, disabled FROM applications WHERE consumer_key = $1`,
  acrossAccounts.rights,
);

/** The application that has authenticated itself for a token request. */
export interface Client {
  readonly consumer_key: string;
  readonly scopes: Scope[];
  readonly grants: Grant[];
}

/** Authenticates clients by consumer key and secret, with HTTP Basic and no other method (RFC 6749 §2.3). */
@Injectable()
export class ClientAuthentication {
  constructor(private readonly database: Database) {}

  /**
   * Returns the application that the Authorization header authenticates.
   * @throws OAuthError invalid_client
   */
  async authenticate(authorization: string | undefined): Promise<Client> {
    const credentials = readBasic(authorization);
    if (!credentials) throw invalidClient();
    const application = CONSUMER_KEY.test(credentials.key)
      ? await this.database.queryOne<Client & { secret_hash: Buffer; disabled: boolean }>(FIND, [credentials.key])
      : null;
    const right = timingSafeEqual(sha256(credentials.secret), application?.secret_hash ?? NO_SECRET);
    if (!application || !right || application.disabled) throw invalidClient();
    return application;
  }
}

/**
 * Reads HTTP Basic credentials (RFC 7617 §2). Their key and secret are form-encoded (RFC 6749 §2.3.1). Returns null for
 * another authentication scheme or a header that cannot be decoded.
 */
export function readBasic(authorization: string | undefined): { key: string; secret: string } | null {
  const encoded = BASIC.exec(authorization ?? '')?.[1];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1 || !isUtf8(bytes)) return null;
  try {
    return { key: formDecode(text.slice(0, colon)), secret: formDecode(text.slice(colon + 1)) };
  } catch {
    return null;
  }
}
