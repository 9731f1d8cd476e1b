import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { SCOPES } from '../../platform/context/caller.js';
import { GENERATED_TOKEN } from '../../platform/secrets.js';
import { httpUrl } from '../../platform/validation/formats.js';
import { integer, listOf, text } from '../../platform/validation/rules.js';
import { GRANTS } from './application.entity.js';
import { PARAMETER } from './token.form.js';

// The classes for token requests and responses only document the token service, and therefore have no validation rules.
// The service reads its forms and writes its errors as the RFCs prescribe.

/**
 * The schema of a token, which consists of 256 random bits in base64url. If the CELL setting is a letter, the token
 * begins with that letter.
 */
const token = text({ min: 43, max: 44, pattern: GENERATED_TOKEN }).schema;
const scope = text({ max: 200, pattern: /^([a-z]+( [a-z]+)*)?$/ }).schema;
const name = text({ min: 1, max: 100 }).schema;
const second = integer(0, Number.MAX_SAFE_INTEGER).schema;
const word = text({ min: 1, max: 100, pattern: /^[a-z_]+$/ });

export class TokenRequestForm {
  @ApiProperty({ enum: GRANTS })
  grant_type: string;

  @ApiProperty({ ...PARAMETER, required: false, description: 'Required for the grant type password.' })
  username?: string;

  @ApiProperty({
    ...PARAMETER,
    required: false,
    format: 'password',
    description: 'Required for the grant type password.',
  })
  password?: string;

  @ApiProperty({ ...PARAMETER, required: false, description: 'Required for the grant type refresh_token.' })
  refresh_token?: string;

  @ApiProperty({
    ...PARAMETER,
    required: false,
    description: `Separated by spaces, of ${SCOPES.join(', ')}. When left out, the token gets every scope that both the application and the user have. For the grant type client_credentials these are the scopes of the application.`,
    example: 'read create',
  })
  scope?: string;
}

export class TokenFormOf {
  @ApiProperty({ ...PARAMETER, description: 'An access or refresh token.' })
  token: string;

  @ApiProperty({ ...PARAMETER, required: false, description: 'The hint is accepted but has no effect.' })
  token_type_hint?: string;
}

export class TokenModel {
  @ApiProperty(token)
  access_token: string;

  @ApiProperty({ enum: ['Bearer'] })
  token_type: string;

  @ApiProperty({ ...integer(0, 2 ** 31 - 1).schema, description: 'The lifetime of the access token, in seconds.' })
  expires_in: number;

  @ApiProperty({
    ...token,
    required: false,
    description: 'A refresh token, which can be used once. The grant type client_credentials returns none.',
  })
  refresh_token?: string;

  @ApiProperty({ ...scope, description: 'The granted scopes: sorted, separated by spaces.' })
  scope: string;
}

export class IntrospectionModel {
  @ApiProperty()
  active: boolean;

  @ApiProperty({ ...scope, required: false })
  scope?: string;

  @ApiProperty({ ...name, required: false, description: 'Consumer key of the application.' })
  client_id?: string;

  @ApiProperty({ ...name, required: false })
  username?: string;

  @ApiProperty({ ...name, required: false })
  sub?: string;

  @ApiProperty({ required: false, enum: ['Bearer'], description: '`Bearer` for an access token.' })
  token_type?: string;

  @ApiProperty({ ...second, required: false })
  iat?: number;

  @ApiProperty({ ...second, required: false })
  exp?: number;

  @ApiProperty({ ...httpUrl().schema, required: false })
  iss?: string;
}

export class MetadataModel {
  @ApiProperty(httpUrl().schema)
  issuer: string;

  @ApiProperty(httpUrl().schema)
  token_endpoint: string;

  @ApiProperty(listOf(word, 50).schema)
  token_endpoint_auth_methods_supported: string[];

  @ApiProperty(httpUrl().schema)
  revocation_endpoint: string;

  @ApiProperty(listOf(word, 50).schema)
  revocation_endpoint_auth_methods_supported: string[];

  @ApiProperty(httpUrl().schema)
  introspection_endpoint: string;

  @ApiProperty(listOf(word, 50).schema)
  introspection_endpoint_auth_methods_supported: string[];

  @ApiProperty(listOf(word, 50).schema)
  grant_types_supported: string[];

  @ApiProperty(listOf(word, 50).schema)
  response_types_supported: string[];

  @ApiProperty(listOf(word, 50).schema)
  scopes_supported: string[];

  @ApiProperty(httpUrl().schema)
  service_documentation: string;
}

/** The error response of the token service (RFC 6749 §5.2). */
class OAuthErrorModel {
  @ApiProperty({ ...word.schema, example: 'invalid_grant' })
  error: string;

  @ApiProperty(text({ max: 1000 }).schema)
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
 * Documents the error responses of a route of the token service.
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

/**
 * An empty object, as the response to a revocation. RFC 7009 §2.2 requires no body, but some clients refuse a response
 * without a body.
 */
export class RevokedModel {}
