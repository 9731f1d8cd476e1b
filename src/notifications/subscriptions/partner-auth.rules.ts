import { escapePointer } from '../../platform/validation/members.js';
import { fault, oneOf, text, type Rule, type Schema } from '../../platform/validation/rules.js';
import type { Fault } from '../../platform/errors.js';
import { parseUrl } from '../../platform/urls.js';
import { parseTokenUrl } from '../partner/partner-address.js';
import { url } from './subscription.rules.js';

const MOST_HEADERS = 10;

/** The headers that the service itself sets on requests to partners. */
const SET_BY_SERVICE = /^(webhook-.*|event-sequence|traceparent|tracestate|user-agent|content-.*|accept-encoding)$/;
/**
 * The headers that control the connection, the caches or the routing of a request (RFC 9110, RFC 9111, RFC 9112).
 * `auth` must therefore not set them.
 */
const STEERS =
  /^(host|connection|keep-alive|proxy-.*|transfer-encoding|te|trailer|upgrade|http2-settings|expect|max-forwards|via|forwarded|x-forwarded-.*|alt-.*|date|range|if-.*|cache-control|pragma|age|expires|etag|last-modified|vary|warning|surrogate-.*|cdn-.*)$/;

const tokenUrl = url(parseTokenUrl, 'The address of the token endpoint: https, without user information and fragment.');

const headerName = text({
  min: 1,
  max: 100,
  // RFC 9110 §5.6.2 defines the characters of a header name.
  pattern: /^[A-Za-z0-9!#$%&'*.^_`|~+-]+$/,
  form: 'Must be a name of a header: letters, digits, and the characters that RFC 9110 allows in a token.',
  example: 'X-Api-Key',
});
const headerValue = text({
  min: 1,
  max: 8000,
  pattern: /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/,
  form: 'Must be visible ASCII characters, with blanks only between them.',
});

/**
 * The validation rule for the headers of a partner's own authentication scheme. The names of the headers must differ.
 */
export const headers: Rule = {
  schema: {
    type: 'array',
    minItems: 1,
    maxItems: MOST_HEADERS,
    description:
      'Headers of every request to the partner; they are never sent to its token service. Their values are ' +
      'write-only. Headers that the service itself sets, and headers that control a connection or a cache, are ' +
      'refused.',
    items: {
      type: 'object',
      required: ['name', 'value'],
      properties: { name: headerName.schema, value: { ...headerValue.schema, writeOnly: true } },
      additionalProperties: false,
    },
  },
  faults(value) {
    if (!Array.isArray(value)) return [fault('type_invalid', 'Must be an array.')];
    if (value.length === 0) return [fault('too_few', 'Must have at least 1 entry.')];
    if (value.length > MOST_HEADERS) return [fault('too_many', `Must have at most ${MOST_HEADERS} entries.`)];
    const seen = new Set<string>();
    return value.flatMap((header: unknown, index) => {
      const faults = membersFaults({ name: { rule: headerName }, value: { rule: headerValue } }, header);
      const { name } = (header ?? {}) as { name?: unknown };
      if (faults.length === 0) faults.push(...nameFaults(name as string, seen));
      return faults.map((found) => ({ ...found, pointer: `/${index}${found.pointer}` }));
    });
  },
};

function nameFaults(name: string, seen: Set<string>): Fault[] {
  const lower = name.toLowerCase();
  if (SET_BY_SERVICE.test(lower))
    return [fault('header_reserved', 'The service sets this header itself, or it describes the body.', '/name')];
  if (STEERS.test(lower))
    return [
      fault(
        'header_reserved',
        'This header controls the connection or a cache and cannot be used for credentials.',
        '/name',
      ),
    ];
  if (seen.has(lower)) return [fault('header_repeated', 'Each header may appear only once.', '/name')];
  seen.add(lower);
  return [];
}

interface AuthMember {
  rule: Rule;
  optional?: boolean;
  writeOnly?: boolean;
}

const OWN_HEADERS: Record<string, AuthMember> = { headers: { rule: headers, optional: true } };

const AUTH: Record<string, Record<string, AuthMember>> = {
  none: { ...OWN_HEADERS },
  headers: { headers: { rule: headers } },
  basic: {
    username: {
      // RFC 7617 §2: the first colon ends the user name, so the name cannot contain a colon.
      rule: text({ min: 1, max: 200, pattern: /^[^:]+$/, form: 'Must not have a colon.' }),
    },
    password: { rule: text({ min: 1, max: 500 }), writeOnly: true },
    ...OWN_HEADERS,
  },
  bearer: {
    token: {
      rule: text({ min: 1, max: 8000, pattern: /^[\x21-\x7e]+$/, form: 'Must be visible ASCII characters.' }),
      writeOnly: true,
    },
    ...OWN_HEADERS,
  },
  oauth2_client_credentials: {
    token_url: { rule: tokenUrl },
    client_id: { rule: text({ min: 1, max: 500 }) },
    client_secret: { rule: text({ min: 1, max: 2000 }), optional: true, writeOnly: true },
    client_auth: {
      rule: oneOf(['basic', 'post', 'private_key_jwt'], 'client_auth_unknown'),
      optional: true,
    },
    scope: { rule: text({ min: 1, max: 1000 }), optional: true },
    audience: { rule: text({ min: 1, max: 1000 }), optional: true },
    resource: {
      // RFC 8707 §2 defines the resource indicator as an absolute URI.
      rule: text({
        min: 1,
        max: 2000,
        accepts: (value) => parseUrl(value) !== null && !value.includes('#'),
        form: 'Must be an absolute URI without a fragment.',
        format: 'uri',
      }),
      optional: true,
    },
    ...OWN_HEADERS,
  },
};

/**
 * The validation rule for the service's authentication to a partner: an object whose `type` determines its other
 * members.
 */
export const authRule: Rule = {
  schema: {
    type: 'object',
    oneOf: Object.entries(AUTH).map(([type, members]) => authSchema(type, members)),
    description:
      'How the service authenticates at the partner. Passwords, tokens, client secrets and values of headers are ' +
      'write-only. `headers` is for an authentication scheme of the partner’s own, alone or with another type. ' +
      '`client_auth` is `basic` when left out. `private_key_jwt` takes no client secret, and signs with a key of ' +
      '`/.well-known/jwks.json`.',
    example: { type: 'bearer', token: 'what-the-partner-gave-us' },
  },
  faults(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return [fault('type_invalid', 'Must be an object.')];
    const { type, ...given } = value as Record<string, unknown>;
    if (type == null) return [fault('required', 'Must be given.', '/type')];
    if (typeof type !== 'string') return [fault('type_invalid', 'Must be a string.', '/type')];
    if (!Object.hasOwn(AUTH, type))
      return [fault('auth_type_unknown', `Must be one of ${Object.keys(AUTH).join(', ')}.`, '/type')];
    const faults = membersFaults(AUTH[type], given);
    if (type === 'oauth2_client_credentials') faults.push(...clientSecretFaults(given));
    if (type !== 'none' && type !== 'headers') faults.push(...authorizationFaults(given));
    return faults;
  },
};

/** Returns validation errors unless `auth` either has a client secret or uses a signing key, but not both. */
function clientSecretFaults({ client_auth, client_secret }: Record<string, unknown>): Fault[] {
  if (client_auth === 'private_key_jwt')
    return client_secret == null
      ? []
      : [fault('unknown_field', 'private_key_jwt takes no client secret.', '/client_secret')];
  return client_secret == null ? [fault('required', 'Must be given.', '/client_secret')] : [];
}

/**
 * Returns a validation error for a header named `Authorization`, which the service itself sets for every type of
 * authentication except `none` and `headers`.
 */
function authorizationFaults({ headers }: Record<string, unknown>): Fault[] {
  if (!Array.isArray(headers)) return [];
  return headers.flatMap((header: { name?: unknown } | null, index) =>
    String(header?.name).toLowerCase() === 'authorization'
      ? [fault('header_reserved', 'The service sets this header itself.', `/headers/${index}/name`)]
      : [],
  );
}

function membersFaults(members: Record<string, AuthMember>, value: unknown): Fault[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [fault('type_invalid', 'Must be an object.')];
  const given = value as Record<string, unknown>;
  const faults = Object.keys(given)
    .filter((name) => !Object.hasOwn(members, name))
    .map((name) => fault('unknown_field', 'There is no such member for this type.', `/${escapePointer(name)}`));
  for (const [name, { rule, optional }] of Object.entries(members)) {
    const member = given[name];
    if (member != null)
      faults.push(...rule.faults(member).map((found) => ({ ...found, pointer: `/${name}${found.pointer}` })));
    else if (!optional) faults.push(fault('required', 'Must be given.', `/${name}`));
  }
  return faults;
}

function authSchema(type: string, members: Record<string, AuthMember>): Schema {
  const entries = Object.entries(members);
  return {
    type: 'object',
    title: type,
    required: ['type', ...entries.filter(([, member]) => !member.optional).map(([name]) => name)],
    properties: {
      type: { const: type },
      ...Object.fromEntries(entries.map(([name, member]) => [name, memberSchema(member)])),
    },
  };
}

function memberSchema({ rule, optional, writeOnly }: AuthMember): Schema {
  return {
    ...rule.schema,
    ...(optional ? { type: [rule.schema['type'], 'null'] } : {}),
    ...(optional && rule.schema['enum'] ? { enum: [...(rule.schema['enum'] as string[]), null] } : {}),
    ...(writeOnly ? { writeOnly: true } : {}),
  };
}

/** Returns the schemas of the members that HTTP responses show for a type of `auth`. */
function shownMembers(type: string, ...names: string[]): Record<string, Schema> {
  return Object.fromEntries(names.map((name) => [name, memberSchema(AUTH[type][name])]));
}

/** The schema of `auth` in HTTP responses, which contain no secrets. */
export const shownAuthRule: Rule = {
  schema: {
    type: 'object',
    required: ['type'],
    properties: {
      type: { type: 'string', enum: Object.keys(AUTH) },
      ...shownMembers('basic', 'username'),
      ...shownMembers('oauth2_client_credentials', 'token_url', 'client_id', 'client_auth'),
      ...shownMembers('oauth2_client_credentials', 'scope', 'audience', 'resource'),
      headers: {
        type: 'array',
        maxItems: MOST_HEADERS,
        description: 'The additional headers. The member is missing if there are none.',
        items: {
          type: 'object',
          required: ['name'],
          properties: { name: headerName.schema },
          additionalProperties: false,
        },
      },
    },
    additionalProperties: false,
  },
  faults: () => [],
};
