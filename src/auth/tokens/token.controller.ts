import { Controller, Get, HttpCode, Post, Req, UseFilters, UseGuards } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { HttpConfig } from '../../platform/http/http.config.js';
import { SCOPES } from '../../platform/context/caller.js';
import { Access } from '../../platform/http/access.js';
import { networkOf } from '../../platform/overload/address.js';
import { PublicProblems } from '../../platform/http/documented.js';
import { GRANTS } from './application.entity.js';
import {
  IntrospectionModel,
  MetadataModel,
  OAuthProblems,
  RevokedModel,
  TokenFormOf,
  TokenModel,
  TokenRequestForm,
} from './token.dto.js';
import { TokenEndpoint, type TokenAnswer } from './token-endpoint.js';
import { TokenErrorFilter } from './token.errors.js';
import { Counted, TokenGuard, type TokenRequest } from './token.guard.js';

/**
 * Serves the token service according to RFC 6749 (with the grants password, refresh_token and client_credentials), RFC
 * 7009 and RFC 7662.
 */
@ApiTags('Token service')
@Controller()
@UseGuards(TokenGuard)
@UseFilters(TokenErrorFilter)
@Access('client')
export class TokenController {
  constructor(private readonly endpoint: TokenEndpoint) {}

  @Post('token')
  @HttpCode(200)
  @Counted()
  @ApiOperation({
    summary: 'Request an access token',
    description:
      'This is the token endpoint of RFC 6749 §4.3, §4.4 and §6. The client authenticates by HTTP Basic with its consumer key and secret. ' +
      'RFC 9700 §2.4 deprecates the password grant, and docs/oauth.md describes how this service limits its use.',
  })
  @ApiConsumes('application/x-www-form-urlencoded')
  @ApiBody({ type: TokenRequestForm })
  @ApiResponse({ status: 200, type: TokenModel, description: 'Granted (RFC 6749 §5.1).' })
  @OAuthProblems(429)
  token(@Req() request: TokenRequest): Promise<TokenAnswer> {
    return this.endpoint.grant(request.oauthClient, request.body, networkOf(request));
  }

  @Post('revoke')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Revoke a token',
    description:
      'This is the revocation endpoint of RFC 7009, with the same client authentication as /token. Revoking a refresh token also revokes all other tokens of its grant. An unknown token also gets status 200.',
  })
  @ApiConsumes('application/x-www-form-urlencoded')
  @ApiBody({ type: TokenFormOf })
  @ApiResponse({
    status: 200,
    type: RevokedModel,
    description: 'The token is revoked, or it was not a token of this application.',
  })
  @OAuthProblems(429)
  async revoke(@Req() request: TokenRequest): Promise<RevokedModel> {
    await this.endpoint.revoke(request.oauthClient, request.body);
    return {};
  }

  @Post('introspect')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Check whether a token is active',
    description:
      'This is the introspection endpoint of RFC 7662, with the same client authentication as /token. An application can check only its own tokens. Every other token is reported as inactive.',
  })
  @ApiConsumes('application/x-www-form-urlencoded')
  @ApiBody({ type: TokenFormOf })
  @ApiResponse({ status: 200, type: IntrospectionModel, description: 'The caller and the rights of the token.' })
  @OAuthProblems(429)
  introspect(@Req() request: TokenRequest): Promise<IntrospectionModel> {
    return this.endpoint.introspect(request.oauthClient, request.body);
  }
}

@ApiTags('Token service')
@Controller('.well-known')
@Access('public')
export class TokenMetadataController {
  constructor(private readonly config: HttpConfig) {}

  @Get('oauth-authorization-server')
  @ApiOperation({ summary: 'Read the metadata of the token service (RFC 8414)' })
  @ApiResponse({ status: 200, type: MetadataModel, description: 'The metadata.' })
  @PublicProblems()
  metadata(): MetadataModel {
    const { baseUrl } = this.config;
    const methods = ['client_secret_basic'];
    return {
      issuer: baseUrl,
      token_endpoint: `${baseUrl}/token`,
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint: `${baseUrl}/revoke`,
      revocation_endpoint_auth_methods_supported: methods,
      introspection_endpoint: `${baseUrl}/introspect`,
      introspection_endpoint_auth_methods_supported: methods,
      grant_types_supported: [...GRANTS],
      // RFC 8414 §2 requires the `response_types_supported` member. The list is empty, because there is no
      // authorization endpoint.
      response_types_supported: [],
      scopes_supported: [...SCOPES],
      service_documentation: `${baseUrl}/docs`,
    };
  }
}
