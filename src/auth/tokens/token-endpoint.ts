import { Injectable } from '@nestjs/common';
import { AuthConfig } from '../auth.config.js';
import { HttpConfig } from '../../platform/http/http.config.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import type { Scope } from '../../platform/context/caller.js';
import { requestContext } from '../../platform/context/request-context.js';
import type { ClientNetwork } from '../../platform/overload/address.js';
import { AccessTokenLookup } from './access-token-lookup.js';
import { GRANTS, type Grant } from './application.entity.js';
import type { Client } from './client-authentication.js';
import { Login } from './login.js';
import { grantedScopes } from './scope.rules.js';
import type { IntrospectionModel } from './token.dto.js';
import { invalidLogin, invalidRefreshToken, OAuthError } from './token.errors.js';
import type { Form } from './token.form.js';
import { TokenRefusals } from './token-refusals.js';
import { TokenStore } from './token-store.js';

/** The response to a successful token request (RFC 6749 §5.1). */
export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  /** The refresh token; omitted when the application itself is the caller (RFC 6749 §4.4.3). */
  refresh_token?: string;
  scope: string;
}

/**
 * Grants, revokes and introspects tokens, after the guard has read the form of the request.
 *
 * The checks of a grant have the order of RFC 6749. A failed check ends the request with its error code:
 *
 *   before this file    quota of the address · client authentication (§2.3) · form (§3.2, token.guard.ts)
 *   1. grant_type is sent                           invalid_request         §5.2
 *   2. the service supports it                      unsupported_grant_type  §5.2
 *   3. the client may use it                        unauthorized_client     §5.2
 *   4. the parameters of the grant are sent         invalid_request         §4.3.2, §6 (client_credentials: none)
 *   5. the password or refresh token is valid       invalid_grant           §4.3.3, §6, §10.4
 *   6. the scope is within what may be granted      invalid_scope           §3.3, §6
 *
 * Nothing is written before the last check has passed, with two exceptions. A refused password is counted (§4.3.2), and
 * a refresh token that is used for the second time ends its family (§10.4).
 */
@Injectable()
export class TokenEndpoint {
  constructor(
    private readonly config: AuthConfig,
    private readonly http: HttpConfig,
    private readonly unitOfWork: UnitOfWork,
    private readonly login: Login,
    private readonly store: TokenStore,
    private readonly lookup: AccessTokenLookup,
    private readonly refusals: TokenRefusals,
  ) {}

  /**
   * Grants tokens for a request to `/token`.
   * @throws OAuthError
   */
  async grant(client: Client, form: Form, network: ClientNetwork): Promise<TokenAnswer> {
    const grantType = form.require('grant_type');
    if (!isGrant(grantType))
      throw new OAuthError('unsupported_grant_type', 'Use password, refresh_token or client_credentials.');
    if (!client.grants.includes(grantType))
      throw new OAuthError('unauthorized_client', 'The application may not use this grant.');
    switch (grantType) {
      case 'password':
        return this.grantByPassword(client, form, network);
      case 'refresh_token':
        return this.grantByRefreshToken(client, form);
      case 'client_credentials':
        return this.grantToClient(client, form);
    }
  }

  /** Grants an access token to the application itself, without a user (RFC 6749 §4.4). */
  private async grantToClient(client: Client, form: Form): Promise<TokenAnswer> {
    const scopes = grantedScopes(form.get('scope'), client.scopes);
    if (!scopes) throw invalidScope();
    actFor(client.consumer_key, client, scopes);
    return this.unitOfWork.run(async () => {
      const started = await this.store.startOwnFamily(client.consumer_key, scopes);
      if (!started) throw new OAuthError('unauthorized_client', 'The application was changed. Try again.');
      this.unitOfWork.audit('token.grant', started.familyId);
      return this.answer(started, scopes);
    });
  }

  private async grantByPassword(client: Client, form: Form, network: ClientNetwork): Promise<TokenAnswer> {
    const username = form.require('username');
    const password = form.require('password');
    const asked = form.get('scope');
    const application = client.consumer_key;
    const flow = { group: application, member: network };
    const { user } = await this.login.verify({ username, password, application, within: application, flow });
    if (!user) {
      await this.refusals.count(client.consumer_key, network, username);
      throw invalidLogin();
    }
    const scopes = grantedScopes(asked, client.scopes, user.scopes);
    if (!scopes) throw invalidScope();
    actFor(user.username, client, scopes);
    return this.unitOfWork.run(async () => {
      const started = await this.store.startFamily(client.consumer_key, user, scopes, { byPassword: true });
      if (!started) throw invalidLogin();
      this.unitOfWork.audit('token.grant', started.familyId);
      return this.answer(started, scopes);
    });
  }

  private async grantByRefreshToken(client: Client, form: Form): Promise<TokenAnswer> {
    const token = form.require('refresh_token');
    const asked = form.get('scope');
    const answer = await this.unitOfWork.run(async () => {
      const held = await this.store.lockRefreshToken(token);
      // A refresh token is bound to its client (RFC 6749 §10.4). If another client presents the token, the token is not
      // used up and its family does not end.
      if (held?.consumer_key !== client.consumer_key || !held.usable) throw invalidRefreshToken();
      if (held.used) {
        // The refresh token was used twice. Either of its two users may be a thief, so both lose access (RFC 6749
        // §10.4, RFC 9700 §4.14.2).
        await this.store.endFamily(held.family_id);
        actFor(held.username, client, []);
        this.unitOfWork.audit('token.reuse', held.family_id);
        return null;
      }
      const scopes = grantedScopes(asked, held.scopes, client.scopes, held.user_scopes);
      if (!scopes) throw invalidScope();
      const pair = await this.store.rotate(token, scopes);
      actFor(held.username, client, scopes);
      this.unitOfWork.audit('token.refresh', held.family_id);
      return this.answer(pair, scopes);
    });
    // The error is thrown only after the transaction. Inside the transaction, it would cause a rollback, which would
    // restore the token family.
    if (!answer) throw invalidRefreshToken();
    return answer;
  }

  /**
   * Revokes a token (RFC 7009). An access token is revoked alone; a refresh token is revoked with its whole family. An
   * unknown token is not an error (§2.2). A token of another client stays valid. This is not an error either, so that
   * the response does not reveal the token's owner.
   */
  async revoke(client: Client, form: Form): Promise<void> {
    const token = form.require('token');
    const owner = await this.store.findOwner(token);
    if (owner?.consumer_key !== client.consumer_key) return;
    actFor(owner.username, client, []);
    await this.unitOfWork.run(async () => {
      if (owner.kind === 'access') await this.store.endAccessToken(token);
      else await this.store.endFamily(owner.family_id);
      this.unitOfWork.audit('token.revoke', owner.family_id);
    });
  }

  /** Introspects a token (RFC 7662). A token of another application is reported as inactive (§4). */
  async introspect(client: Client, form: Form): Promise<IntrospectionModel> {
    const token = form.require('token');
    const caller = await this.lookup.find(token);
    if (caller) {
      const times = caller.consumerKey === client.consumer_key ? await this.store.findAccessTokenTimes(token) : null;
      if (!times) return { active: false };
      return {
        active: true,
        scope: [...caller.scopes].sort().join(' '),
        client_id: caller.consumerKey,
        // `username` is the name of a person (RFC 7662 §2.2). If the application itself is the caller, there is no user
        // name.
        username: caller.username === caller.consumerKey ? undefined : caller.username,
        sub: caller.username,
        token_type: 'Bearer',
        iat: times.iat,
        exp: times.exp,
        iss: this.http.baseUrl,
      };
    }
    const refresh = await this.store.findUsableRefreshToken(token, client.consumer_key);
    const scopes = refresh && grantedScopes(undefined, refresh.scopes, client.scopes, refresh.user_scopes);
    if (!scopes) return { active: false };
    return {
      active: true,
      scope: scopes.join(' '),
      client_id: client.consumer_key,
      username: refresh.username,
      sub: refresh.username,
      iat: refresh.iat,
      exp: refresh.exp,
      iss: this.http.baseUrl,
    };
  }

  private answer(tokens: { accessToken: string; refreshToken?: string }, scopes: readonly Scope[]): TokenAnswer {
    return {
      access_token: tokens.accessToken,
      token_type: 'Bearer',
      expires_in: this.config.accessTokenTtlS,
      refresh_token: tokens.refreshToken,
      scope: scopes.join(' '),
    };
  }
}

function isGrant(text: string): text is Grant {
  return (GRANTS as readonly string[]).includes(text);
}

function invalidScope(): OAuthError {
  return new OAuthError('invalid_scope', 'The scope is malformed or unknown, or may not be granted.');
}

/** Records the user or the application as the caller of the request, for the audit entries and the log. */
function actFor(username: string, client: Client, scopes: readonly Scope[]): void {
  requestContext().caller = {
    username,
    consumerKey: client.consumer_key,
    scopes: new Set(scopes),
    accountCodes: new Set(),
    subscriptionIds: new Set(),
    isOperator: false,
  };
}
