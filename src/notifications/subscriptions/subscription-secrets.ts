import { Injectable } from '@nestjs/common';
import { EncryptedColumns } from '../../platform/database/encrypted-columns.js';
import { Secrets } from '../../platform/secrets.js';
import type { PartnerAuth } from '../partner/partner-credentials.js';
import type { ShownAuth, Subscription } from './subscription.entity.js';

type Column = 'auth' | 'client-key' | 'signing-secret';

/** Seals and opens what a subscription keeps secret. A sealed value opens only in its own column and row. */
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
        previous_signing_secret: as('signing-secret'),
      },
    });
  }

  seal(plain: string, id: string, column: Column): Buffer {
    return this.secrets.encrypt(plain, purpose(id, column));
  }

  open(sealed: Buffer, id: string, column: Column): string {
    return this.secrets.decrypt(sealed, purpose(id, column)).toString('utf8');
  }

  /** `auth` as it is shown, and its secret apart, sealed. */
  sealAuth(auth: PartnerAuth, id: string): { auth: ShownAuth; auth_secret: Buffer | null } {
    const sealed = (secret: string) => this.seal(secret, id, 'auth');
    switch (auth.type) {
      case 'none':
        return { auth: { type: 'none' }, auth_secret: null };
      case 'basic':
        return { auth: { type: 'basic', username: auth.username }, auth_secret: sealed(auth.password) };
      case 'bearer':
        return { auth: { type: 'bearer' }, auth_secret: sealed(auth.token) };
      case 'oauth2_client_credentials': {
        const { type, token_url, client_id, scope } = auth;
        return { auth: { type, token_url, client_id, scope: scope ?? null }, auth_secret: sealed(auth.client_secret) };
      }
    }
  }

  openAuth({ id, auth, auth_secret }: Pick<Subscription, 'id' | 'auth' | 'auth_secret'>): PartnerAuth {
    const secret = auth_secret === null ? '' : this.open(auth_secret, id, 'auth');
    switch (auth.type) {
      case 'none':
        return auth;
      case 'basic':
        return { ...auth, password: secret };
      case 'bearer':
        return { ...auth, token: secret };
      case 'oauth2_client_credentials':
        return { ...auth, client_secret: secret, scope: auth.scope ?? undefined };
    }
  }
}

function purpose(id: string, column: Column): string {
  return `subscription ${id} ${column}`;
}
