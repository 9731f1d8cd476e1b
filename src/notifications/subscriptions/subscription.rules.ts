import { fault, text, type Rule, type Schema } from '../../platform/validation/rules.js';
import type { Fault } from '../../platform/errors.js';
import type { Subscription } from './subscription.entity.js';
import { parsePartnerUrl, parseTokenUrl, PartnerUrlError } from '../partner/partner-address.js';
import { assertCertificates, PemError, type PartnerCertificates } from '../partner/partner-credentials.js';

const MOST_URL = 2000;

function url(parse: (value: string) => URL, description: string): Rule {
  const plain = text({ min: 1, max: MOST_URL });
  return {
    schema: { ...plain.schema, format: 'uri', description },
    faults(value) {
      const faults = plain.faults(value);
      if (faults.length > 0) return faults;
      try {
        parse(value as string);
        return [];
      } catch (error) {
        if (error instanceof PartnerUrlError) return [fault(error.code, `The URL ${error.message}.`)];
        throw error;
      }
    },
  };
}

export const partnerUrl = url(
  parsePartnerUrl,
  'https, without user information, query and fragment. The service PUTs to {partner_url}/notifications.',
);
const tokenUrl = url(parseTokenUrl, 'https, without user information and fragment.');

/** PEM text; whether it holds what it should is for {@link certificateFaults}. */
export const pem = text({ min: 1, max: 100_000, lines: true });

interface AuthMember {
  rule: Rule;
  optional?: boolean;
  writeOnly?: boolean;
}

const AUTH: Record<string, Record<string, AuthMember>> = {
  none: {},
  basic: {
    username: {
      // RFC 7617 §2: the first colon ends the user name.
      rule: text({ min: 1, max: 200, pattern: /^[^:]+$/, form: 'Must not have a colon.' }),
    },
    password: { rule: text({ min: 1, max: 500 }), writeOnly: true },
  },
  bearer: {
    token: {
      rule: text({ min: 1, max: 8000, pattern: /^[\x21-\x7e]+$/, form: 'Must be visible ASCII characters.' }),
      writeOnly: true,
    },
  },
  oauth2_client_credentials: {
    token_url: { rule: tokenUrl },
    client_id: { rule: text({ min: 1, max: 500 }) },
    client_secret: { rule: text({ min: 1, max: 2000 }), writeOnly: true },
    scope: { rule: text({ min: 1, max: 1000 }), optional: true },
  },
};

/** How the service shows a partner who it is: an object whose `type` says what else it has. */
export const authRule: Rule = {
  schema: {
    type: 'object',
    oneOf: Object.entries(AUTH).map(([type, members]) => authSchema(type, members)),
    description: 'Passwords, tokens and client secrets are write-only.',
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
    return authFaults(AUTH[type], given);
  },
};

function authFaults(members: Record<string, AuthMember>, given: Record<string, unknown>): Fault[] {
  const faults = Object.keys(given)
    .filter((name) => !Object.hasOwn(members, name))
    .map((name) =>
      fault(
        'unknown_field',
        'There is no such member for this type.',
        `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      ),
    );
  for (const [name, { rule, optional }] of Object.entries(members)) {
    const value = given[name];
    if (value != null)
      faults.push(...rule.faults(value).map((found) => ({ ...found, pointer: `/${name}${found.pointer}` })));
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
      ...Object.fromEntries(
        entries.map(([name, { rule, optional, writeOnly }]) => [
          name,
          {
            ...rule.schema,
            ...(optional ? { type: [rule.schema['type'], 'null'] } : {}),
            ...(writeOnly ? { writeOnly: true } : {}),
          },
        ]),
      ),
    },
  };
}

/** `auth` as answers show it. */
export const shownAuthRule: Rule = {
  schema: {
    type: 'object',
    required: ['type'],
    properties: {
      type: { type: 'string', enum: Object.keys(AUTH) },
      username: { type: 'string' },
      token_url: { type: 'string' },
      client_id: { type: 'string' },
      scope: { type: ['string', 'null'] },
    },
    additionalProperties: false,
  },
  faults: () => [],
};

const PEM_POINTERS: Record<keyof PartnerCertificates, string> = {
  caPem: '/ca_pem',
  clientCertPem: '/client_cert_pem',
  clientKeyPem: '/client_key_pem',
};

/** What is wrong with the certificates taken together. */
export function certificateFaults(certificates: PartnerCertificates): Fault[] {
  try {
    assertCertificates(certificates);
    return [];
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    return [fault(error.code, `The value ${error.message}.`, PEM_POINTERS[error.member])];
  }
}

/** What `auto_retry_on` may hold. A 500 is in it always: it says that the partner's components are down. */
export const AUTO_RETRY_CAUSES = ['500', '429', '408', '502', '503', '504', 'timeout', 'connection'] as const;
export const DEFAULT_AUTO_RETRY: readonly AutoRetryCause[] = ['500', '429'];
export type AutoRetryCause = (typeof AUTO_RETRY_CAUSES)[number];

/** The causes as they are kept: in the order above, each once, 500 among them. */
export function autoRetryCauses(asked: readonly string[]): AutoRetryCause[] {
  return AUTO_RETRY_CAUSES.filter((cause) => cause === '500' || asked.includes(cause));
}

/** The time for which it was suspended is kept: it does not count towards giving up. */
export function endSuspension(subscription: Pick<Subscription, 'suspended_datetime' | 'suspensions'>, now: Date): void {
  const { suspended_datetime: from, suspensions } = subscription;
  subscription.suspended_datetime = null;
  if (from === null || from >= now) return;
  // Suspensions follow one another, so that a multirange stays in order by appending.
  const ranges = [suspensions.slice(1, -1), `[${from.toISOString()},${now.toISOString()})`];
  subscription.suspensions = `{${ranges.filter((range) => range !== '').join(',')}}`;
}
