import type { Rule } from '../platform/validation/rules.js';
import { parseTokenUrl } from './partner/partner-address.js';
import { headers } from './subscriptions/partner-auth.rules.js';
import { url } from './subscriptions/subscription.rules.js';

/** The validation rule for the address of a webhook. Unlike in a partner's address, a query is allowed. */
export const webhookUrl = url(
  parseTokenUrl,
  'The address of the webhook: https, without user information and fragment. The service sends `POST {url}`.',
);

/** The validation rule for the headers of requests to a webhook. */
export const webhookHeaders: Rule = {
  schema: {
    ...headers.schema,
    description:
      'Headers of every request to the webhook, such as `Authorization`. Their values are write-only. Headers that the ' +
      'service itself sets, and headers that control a connection or a cache, are refused.',
  },
  faults: (value) => headers.faults(value),
};
