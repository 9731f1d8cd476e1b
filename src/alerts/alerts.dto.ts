import { webhookHeaders, webhookUrl } from '../notifications/webhook.fields.js';
import { Field, ReadOnlyMembers } from '../platform/validation/fields.js';
import { email } from '../platform/validation/formats.js';
import { accountCodeRule } from '../platform/validation/identifiers.js';
import { boolean, code, dateTime, integer, listOf, oneOf, text, type Rule } from '../platform/validation/rules.js';
import type { AlertKind } from './alert.entity.js';
import { CONDITIONS, type ConditionName } from './conditions.js';

/** The maximum number of recipients of one alert. */
const MOST_RECIPIENTS = 20;
const MOST_QUIET_S = 7 * 86_400;
export const DEFAULT_QUIET_S = 900;

const KINDS = ['EMAIL', 'WEBHOOK'] as const satisfies readonly AlertKind[];
const kind = oneOf(KINDS, 'alert_kind_unknown');
const recipients = listOf(email(), MOST_RECIPIENTS);
const conditions = listOf(oneOf(CONDITIONS, 'condition_unknown'), 20);
const accountCodes = listOf(accountCodeRule, 200);
const quiet = integer(0, MOST_QUIET_S);
const alertName = code(100, { example: 'on-call' });

const shownHeaders: Rule = {
  schema: {
    type: 'array',
    maxItems: 10,
    items: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string', maxLength: 100, pattern: '^[!-~]+$' } },
      additionalProperties: false,
    },
  },
  faults: () => [],
};

/**
 * The rule for the headers of an alert in a request. A header without a value, as in a response, keeps its stored
 * value; the handler refuses the header if no value is stored.
 */
const givenHeaders: Rule = {
  schema: {
    ...webhookHeaders.schema,
    minItems: 0,
    items: { ...(webhookHeaders.schema.items as object), required: ['name'] },
  },
  faults: (value) =>
    Array.isArray(value) && value.length === 0
      ? []
      : webhookHeaders.faults(value).filter(({ code, pointer }) => code !== 'required' || !pointer?.endsWith('/value')),
};

type GivenTarget = { [Member in 'kind' | 'to' | 'url' | 'headers']?: unknown };
const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

/**
 * Declares that a member is allowed only for alerts of one kind. An empty list is allowed for both kinds, because
 * responses contain empty lists, and a client may send a response back as a request. If the kind itself is invalid, the
 * rule does not apply.
 */
const onlyFor = (member: 'to' | 'url' | 'headers', kind: AlertKind) => ({
  code: 'member_of_other_kind',
  detail: `The member is for alerts of the kind ${kind}.`,
  holds: (body: GivenTarget) =>
    body.kind === kind || !KINDS.some((known) => known === body.kind) || isEmpty(body[member]),
});
/** Declares that a member is required for alerts of one kind. */
const needed = (member: 'to' | 'url', kind: AlertKind) => ({
  code: 'required',
  detail: 'Must be given.',
  member,
  holds: (body: GivenTarget) => body.kind !== kind || (body[member] != null && !isEmpty(body[member])),
});

/** The path parameter of the routes for one alert. */
export class AlertPath {
  @Field(alertName, { required: true, description: 'The name of the alert.' })
  name: string;
}

@ReadOnlyMembers(
  'name',
  'waiting',
  'last_sent_datetime',
  'last_error',
  'last_error_datetime',
  'next_attempt_at',
  'created_datetime',
  'updated_datetime',
)
export class AlertBody {
  @Field(kind, {
    required: true,
    description: 'How people are informed: by mail to `to`, or by a request to the webhook `url`.',
    agreements: [needed('to', 'EMAIL'), needed('url', 'WEBHOOK')],
  })
  kind: AlertKind;

  @Field(recipients, {
    description: 'The mail addresses of an EMAIL alert.',
    example: ['on-call@example.org'],
    agreements: [onlyFor('to', 'EMAIL')],
  })
  to?: string[] | null;

  @Field(webhookUrl, { agreements: [onlyFor('url', 'WEBHOOK')] })
  url?: string | null;

  @Field(givenHeaders, {
    agreements: [onlyFor('headers', 'WEBHOOK')],
    description:
      'When left out, or sent without values as GET shows them, the headers that are stored for the same host are ' +
      'kept. Send null to remove them.',
  })
  headers?: { name: string; value?: string | null }[] | null;

  @Field(accountCodes, {
    description: 'The accounts whose conditions are reported. When left out or empty, these are all.',
  })
  account_codes?: string[] | null;

  @Field(conditions, { description: 'The conditions that are reported. When left out or empty, these are all.' })
  conditions?: ConditionName[] | null;

  @Field(quiet, {
    description: `The number of seconds in which the same condition of the same subject is reported at most once. When left out, it is ${DEFAULT_QUIET_S}.`,
  })
  quiet_s?: number | null;

  @Field(boolean(), { description: 'A disabled alert reports nothing. When left out, the value is false.' })
  disabled?: boolean | null;
}

export class AlertModel {
  @Field(alertName, { required: true })
  name: string;

  @Field(kind, { required: true })
  kind: AlertKind;

  @Field(recipients, { required: true, description: 'The mail addresses of an EMAIL alert; empty for a WEBHOOK.' })
  to: string[];

  @Field(webhookUrl, { always: true })
  url: string | null;

  @Field(shownHeaders, { required: true, description: 'The names of the headers. Their values are never shown.' })
  headers: { name: string }[];

  @Field(accountCodes, { required: true, description: 'The accounts whose conditions are reported; empty for all.' })
  account_codes: string[];

  @Field(conditions, { required: true, description: 'The conditions that are reported.' })
  conditions: ConditionName[];

  @Field(quiet, {
    required: true,
    description: 'The number of seconds in which the same condition of the same subject is reported at most once.',
  })
  quiet_s: number;

  @Field(boolean(), { required: true })
  disabled: boolean;

  @Field(integer(0, Number.MAX_SAFE_INTEGER), {
    required: true,
    description: 'Number of messages that wait to be sent.',
  })
  waiting: number;

  @Field(dateTime(), { always: true, description: 'Time at which a message was last delivered.' })
  last_sent_datetime: string | null;

  @Field(text({ max: 500 }), {
    always: true,
    description: 'The cause of the last failure. The value is null after a success.',
  })
  last_error: string | null;

  @Field(dateTime(), { always: true, description: 'Time of the last failure. The value is null after a success.' })
  last_error_datetime: string | null;

  @Field(dateTime(), { always: true, description: 'Time of the next attempt after a failure.' })
  next_attempt_at: string | null;

  @Field(dateTime(), { required: true })
  created_datetime: string;

  @Field(dateTime(), { required: true })
  updated_datetime: string;
}
