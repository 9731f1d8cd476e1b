import type { Rule } from '../../platform/validation/rules.js';

/** The validation rule for a number of requests per second, which may have a fraction. */
export const paceRule: Rule = { schema: { type: 'number', minimum: 0, example: 4.75 }, faults: () => [] };

export const PAUSED_UNTIL =
  'The partner reported that it is busy (429, or 503 if that is retried), and nothing is sent before this time. The value is null when the partner is not busy.';
export const PACE =
  'Number of requests per second that the partner has been able to handle. The value is null until the partner has ' +
  'reported that it is busy.';

/** The API documentation of a partner's address that is null. */
export const NO_ADDRESS_SHOWN = 'The value is null for a partner that polls and has no address.';

export const FAILING_SINCE_TEXT =
  'Time of the first failed attempt after the last success. The value is null when no attempt failed since then.';
