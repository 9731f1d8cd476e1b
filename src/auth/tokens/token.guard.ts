import { Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { networkOf } from '../../platform/overload/address.js';
import { AddressLimit } from '../../platform/overload/address-limit.js';
import { ClientAuthentication, type Client } from './client-authentication.js';
import { forbidStoring, invalidRequest, OAuthError } from './token.errors.js';
import { readForm, type Form } from './token.form.js';
import { TokenRequestLimit } from './token-request-limit.js';

const COUNTED = 'counted token request';

/** Marks a route whose requests count towards TOKEN_RATE_LIMIT_PER_MINUTE, the limit for each client's address. */
export const Counted = () => SetMetadata(COUNTED, true);

/** A request to the token service with the client and the form that TokenGuard added. */
export interface TokenRequest extends Request {
  oauthClient: Client;
  body: Form;
}

/** Checks every request to the token service: first the quota, then the client, then the form. */
@Injectable()
export class TokenGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limit: TokenRequestLimit,
    private readonly addressLimit: AddressLimit,
    private readonly clients: ClientAuthentication,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<TokenRequest>();
    const response = http.getResponse<Response>();
    forbidStoring(response);
    if (this.reflector.get<boolean | undefined>(COUNTED, context.getHandler()) === true)
      await this.limit.count(networkOf(request), response);

    request.oauthClient = await this.clients.authenticate(request.headers.authorization).catch((error: unknown) => {
      // Failed authentication counts towards the address's limit for unauthenticated requests, even on routes without a
      // quota of their own.
      if (error instanceof OAuthError) this.addressLimit.count(request, response);
      throw error;
    });

    request.body = await readForm(request, response);
    // A request uses only one authentication method (RFC 6749 §2.3). A `client_id` in the body must name the same
    // client as the Authorization header.
    if (request.body.get('client_secret') !== undefined)
      throw invalidRequest('The consumer secret must be sent by HTTP Basic alone.');
    const clientId = request.body.get('client_id');
    if (clientId !== undefined && clientId !== request.oauthClient.consumer_key)
      throw invalidRequest('The parameter client_id names another client than the Authorization header.');
    return true;
  }
}
