import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { SCOPES } from '../../platform/context/caller.js';
import { GRANTS } from './application.entity.js';

// These classes only document the token service, and so carry no validation. The service reads its forms and writes its
// errors as the RFCs prescribe.

export class TokenRequestForm {
  @ApiProperty({ enum: GRANTS })
  grant_type: string;

  @ApiProperty({ required: false, description: 'Required for the grant type password.' })
  username?: string;

  @ApiProperty({ required: false, format: 'password', description: 'Required for the grant type password.' })
  password?: string;

  @ApiProperty({ required: false, description: 'Required for the grant type refresh_token.' })
  refresh_token?: string;

  @ApiProperty({
    required: false,
    description: `Separated by spaces, of ${SCOPES.join(', ')}. When left out, the token gets every scope that both the application and the user have.`,
    example: 'read create',
  })
  scope?: string;
}

export class TokenFormOf {
  @ApiProperty({ description: 'An access or refresh token.' })
  token: string;

  @ApiProperty({ required: false, description: 'The hint is accepted but has no effect.' })
  token_type_hint?: string;
}

export class TokenModel {
  @ApiProperty()
  access_token: string;

  @ApiProperty({ enum: ['Bearer'] })
  token_type: string;

  @ApiProperty({ type: 'integer', description: 'The lifetime of the access token, in seconds.' })
  expires_in: number;

  @ApiProperty({ description: 'A refresh token, which can be used once.' })
  refresh_token: string;

  @ApiProperty({ description: 'The granted scopes: sorted, separated by spaces.' })
  scope: string;
}

export class IntrospectionModel {
  @ApiProperty()
  active: boolean;

  @ApiProperty({ required: false })
  scope?: string;

  @ApiProperty({ required: false, description: 'Consumer key of the application.' })
  client_id?: string;

  @ApiProperty({ required: false })
  username?: string;

  @ApiProperty({ required: false })
  sub?: string;

  @ApiProperty({ required: false, description: '`Bearer` for an access token.' })
  token_type?: string;

  @ApiProperty({ required: false, type: 'integer' })
  iat?: number;

  @ApiProperty({ required: false, type: 'integer' })
  exp?: number;

  @ApiProperty({ required: false })
  iss?: string;
}

export class MetadataModel {
  @ApiProperty()
  issuer: string;

  @ApiProperty()
  token_endpoint: string;

  @ApiProperty({ type: [String] })
  token_endpoint_auth_methods_supported: string[];

  @ApiProperty()
  revocation_endpoint: string;

  @ApiProperty({ type: [String] })
  revocation_endpoint_auth_methods_supported: string[];

  @ApiProperty()
  introspection_endpoint: string;

  @ApiProperty({ type: [String] })
  introspection_endpoint_auth_methods_supported: string[];

  @ApiProperty({ type: [String] })
  grant_types_supported: string[];

  @ApiProperty({ type: [String] })
  response_types_supported: string[];

  @ApiProperty({ type: [String] })
  scopes_supported: string[];

  @ApiProperty()
  service_documentation: string;
}

/** The error answer of the token service (RFC 6749 §5.2). */
class OAuthErrorModel {
  @ApiProperty({ example: 'invalid_grant' })
  error: string;

  @ApiProperty()
  error_description: string;
}

const MEANING: Record<number, string> = {
  400: 'Refused (RFC 6749 §5.2).',
  401: '`invalid_client`: the credentials of the client are missing or wrong, or the client is unknown or disabled.',
  408: '`invalid_request`: the body did not arrive.',
  413: '`invalid_request`: more than 16 KiB.',
  429: '`temporarily_unavailable`: too many token requests from this address; see Retry-After.',
  500: '`server_error`',
  503: '`temporarily_unavailable`: a component is down or overloaded; see Retry-After.',
};

/**
 * Documents the error answers of a route of the token service.
 * @param more further status codes
 */
export function OAuthProblems(...more: number[]) {
  return applyDecorators(
    ApiExtraModels(OAuthErrorModel),
    ...[400, 401, 408, 413, 500, 503, ...more].map((status) =>
      ApiResponse({
        status,
        description: MEANING[status] ?? 'Refused.',
        content: { 'application/json': { schema: { $ref: getSchemaPath(OAuthErrorModel) } } },
      }),
    ),
  );
}

/** An empty object: RFC 7009 §2.2 requires no body, but some clients refuse an answer without one. */
export class RevokedModel {}
