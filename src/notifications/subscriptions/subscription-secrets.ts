import { Injectable } from '@nestjs/common';
import { EncryptedColumns } from '../../platform/database/encrypted-columns.js';
import { Secrets } from '../../platform/secrets.js';
import type { PartnerAuth } from '../partner/partner-credentials.js';
import { MOST_SIGNING } from '../partner/signature.js';
import type { ShownAuth, Subscription } from './subscription.entity.js';

type Column = 'auth' | 'client-key' | 'signing-secret' | 'previous-signing-secrets';

/** A replaced signing secret, which still signs notifications for a limited time. */
export interface PreviousSecret {
  secret: string;
  /** The time until which the replaced secret is used, in milliseconds since 1970. */
  until: number;
}

type SigningColumns = Pick<Subscription, 'id' | 'signing_secret' | 'previous_signing_secrets'>;

/**
 * Encrypts and decrypts the secrets of a subscription. An encrypted value can only be decrypted in its own column and
 * row.
 */
@Injectable()
export class SubscriptionSecrets {
  constructor(
    private readonly secrets: Secrets,
    encrypted: EncryptedColumns,
  ) {
    const as = (column: Column) => (row: Record<string, unknown>) => purpose(row['id'] as string, column);
    encrypted.add({
      table: 'subscriptions',
      key: ['id'],
      columns: {
        auth_secret: as('auth'),
        client_key: as('client-key'),
        signing_secret: as('signing-secret'),
        previous_signing_secrets: as('previous-signing-secrets'),
      },
    });
  }

  seal(plain: string, id: string, column: Column): Buffer {
    return this.secrets.encrypt(plain, purpose(id, column));
  }

  open(sealed: Buffer, id: string, column: Column): string {
    return this.secrets.decrypt(sealed, purpose(id, column)).toString('utf8');
  }

  /** Returns the newest signing secret, which signs first, and the replaced secrets, newest first. */
  openSigning({ id, signing_secret, previous_signing_secrets: previous }: SigningColumns): {
    newest: string;
    previous: PreviousSecret[];
  } {
    const opened = previous === null ? '[]' : this.open(previous, id, 'previous-signing-secrets');
    return {
      newest: this.open(signing_secret, id, 'signing-secret'),
      previous: JSON.parse(opened) as PreviousSecret[],
    };
  }

  /**
   * Adds a signing secret, which becomes the newest. Until the given time, the replaced secret also signs
   * notifications.
   */
  replaceSigning(subscription: Subscription, newest: string, until: Date): void {
    const { newest: replaced, previous } = this.openSigning(subscription);
    // Expired secrets are also kept, because the clock may be wrong at this moment. They do not sign notifications.
    const kept = [{ secret: replaced, until: until.getTime() }, ...previous].slice(0, MOST_SIGNING - 1);
    const { id } = subscription;
    subscription.signing_secret = this.seal(newest, id, 'signing-secret');
    subscription.previous_signing_secrets = this.seal(JSON.stringify(kept), id, 'previous-signing-secrets');
  }

  /** Splits `auth` into the part that HTTP responses show and its secrets, which are encrypted. */
  sealAuth(auth: PartnerAuth, id: string): { auth: ShownAuth; auth_secret: Buffer | null } {
    const headers = auth.headers ?? [];
    const secrets: AuthSecrets = { secret: secretOf(auth), values: headers.map(({ value }) => value) };
    const shown = shownOf(auth);
    if (headers.length > 0) shown.headers = headers.map(({ name }) => ({ name }));
    const isSecret = secrets.secret !== undefined || secrets.values.length > 0;
    return { auth: shown, auth_secret: isSecret ? this.seal(JSON.stringify(secrets), id, 'auth') : null };
  }

  openAuth({ id, auth, auth_secret }: Pick<Subscription, 'id' | 'auth' | 'auth_secret'>): PartnerAuth {
    const { secret, values }: AuthSecrets =
      auth_secret === null ? { values: [] } : (JSON.parse(this.open(auth_secret, id, 'auth')) as AuthSecrets);
    const headers = auth.headers?.map(({ name }, index) => ({ name, value: values[index] }));
    switch (auth.type) {
      case 'none':
      case 'headers':
        return { type: auth.type, headers };
      case 'basic':
        return { ...auth, password: secret ?? '', headers };
      case 'bearer':
        return { ...auth, token: secret ?? '', headers };
      case 'oauth2_client_credentials': {
        const { scope, audience, resource, ...rest } = auth;
        const asked = { scope: scope ?? undefined, audience: audience ?? undefined, resource: resource ?? undefined };
        return { ...rest, ...asked, client_secret: secret, headers };
      }
    }
  }
}

/**
 * The parts of an `auth` that are encrypted: the password, token or client secret, and the values of the headers in
 * their order.
 */
interface AuthSecrets {
  secret?: string;
  values: string[];
}

function secretOf(auth: PartnerAuth): string | undefined {
  switch (auth.type) {
    case 'basic':
      return auth.password;
    case 'bearer':
      return auth.token;
    case 'oauth2_client_credentials':
      return auth.client_secret ?? undefined;
    default:
      return undefined;
  }
}

function shownOf(auth: PartnerAuth): ShownAuth {
  switch (auth.type) {
    case 'basic':
      return { type: 'basic', username: auth.username };
    case 'oauth2_client_credentials': {
      const { type, token_url, client_id, client_auth, scope, audience, resource } = auth;
      return {
        type,
        token_url,
        client_id,
        client_auth: client_auth ?? 'basic',
        scope: scope ?? null,
        audience: audience ?? null,
        resource: resource ?? null,
      };
    }
    default:
      return { type: auth.type };
  }
}

function purpose(id: string, column: Column): string {
  return `subscription ${id} ${column}`;
}
