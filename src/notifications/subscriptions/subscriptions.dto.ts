import { CHANGE_REASONS, type ChangeReason } from '../../bookings/bookings.events.js';
import { RECORD_CHANGES, type RecordChangeName } from '../../platform/changes/change.entity.js';
import { Field, ObjectListField } from '../../platform/validation/fields.js';
import { idInPath } from '../../platform/validation/identifiers.js';
import { PageQuery } from '../../platform/http/paging.js';
import { dateTime, integer, listOf, oneOf, text } from '../../platform/validation/rules.js';
import type { PartnerAuth } from '../partner/partner-credentials.js';
import { FAILING_SINCE_TEXT, NO_ADDRESS_SHOWN, PACE, paceRule, PAUSED_UNTIL } from './pace.fields.js';
import { authRule, shownAuthRule } from './partner-auth.rules.js';
import { AUTO_RETRY_CAUSES, partnerUrl, pem } from './subscription.rules.js';
import {
  DELIVERIES,
  type PartnerDelivery,
  type PartnerHealth,
  type ShownAuth,
  type SubscriptionState,
} from './subscription.entity.js';

const changeReasons = listOf(oneOf(CHANGE_REASONS, 'change_reason_unknown'), 20, 1);
const recordChanges = listOf(oneOf(RECORD_CHANGES, 'change_reason_unknown'), 20);
const name = text({ min: 1, max: 100, notBlank: true });
const deliveryRule = oneOf(DELIVERIES, 'delivery_unknown');
const autoRetryOn = listOf(oneOf(AUTO_RETRY_CAUSES, 'auto_retry_unknown'), 20);

/** The path parameter of the routes for one subscription. */
export class SubscriptionPath {
  @Field(idInPath, { required: true })
  id: string;
}

class SubscriptionSettings {
  @Field(name, { description: 'The name by which people call the partner.', example: 'State Board' })
  name?: string | null;

  @Field(changeReasons, {
    description: 'The events of which the partner is notified. When left out, these are all six.',
  })
  change_reasons?: ChangeReason[] | null;

  @Field(recordChanges, {
    description: 'The changes of records that are sent to `{partner_url}/changes`. When left out, these are none.',
  })
  record_changes?: RecordChangeName[] | null;

  @Field(deliveryRule, {
    description:
      'With PUSH, the service sends each notification to the partner. With POLL, the partner fetches its notifications. When left out, this is PUSH.',
  })
  delivery?: PartnerDelivery | null;

  @Field(authRule)
  auth?: PartnerAuth | null;

  @Field(pem, {
    description:
      'The certificate authorities that replace the public ones, for both partner_url and token_url. If these have ' +
      'different authorities, send the certificates of both.',
  })
  ca_pem?: string | null;

  @Field(pem)
  client_cert_pem?: string | null;

  @Field(pem, { description: 'Private key of the client certificate, in PEM without a passphrase. Write-only.' })
  client_key_pem?: string | null;

  @Field(integer(1000, 60_000), {
    description: 'Time limit of one attempt, in milliseconds. When left out, the default of the service applies.',
  })
  wait_ms?: number | null;

  @Field(autoRetryOn, {
    description:
      'Failures that are retried automatically. When left out, these are status 500 and 429, which are always retried.',
  })
  auto_retry_on?: string[] | null;

  @Field(integer(1, 1000), { description: 'Maximum number of requests per second. When left out, there is no limit.' })
  max_per_second?: number | null;
}

export class SubscriptionBody extends SubscriptionSettings {
  @Field(text({ min: 1, max: 50 }), { required: true })
  account_code: string;

  @Field(partnerUrl, { description: 'Required unless `delivery` is POLL.' })
  partner_url?: string | null;
}

/** The settings of a subscription that an operator may change. */
export class SubscriptionPatch extends SubscriptionSettings {
  @Field(partnerUrl, {
    description:
      'A new address must be verified, and events are kept until then. With POLL, the address need not be verified, and null removes it.',
  })
  partner_url?: string | null;
}

export class SubscriptionQuery extends PageQuery {
  @Field(text({ min: 1, max: 50 }))
  account_code?: string;
}

export class SubscriptionWarningModel {
  @Field(text({ max: 200 }), { required: true, description: 'JSON Pointer of the setting.' })
  pointer: string;

  @Field(oneOf(['address_repeated'], 'format_invalid'), { required: true })
  code: 'address_repeated';

  @Field(text({ max: 500 }), { required: true })
  detail: string;
}

export class SubscriptionModel {
  @Field(text({ max: 36 }), { required: true })
  id: string;

  @Field(text({ max: 50 }), { required: true })
  account_code: string;

  @Field(name, { always: true, description: 'The name by which people call the partner.', example: 'State Board' })
  name: string | null;

  @Field(partnerUrl, { always: true, description: NO_ADDRESS_SHOWN })
  partner_url: string | null;

  @Field(deliveryRule, { required: true })
  delivery: PartnerDelivery;

  @Field(changeReasons, { required: true })
  change_reasons: ChangeReason[];

  @Field(recordChanges, {
    required: true,
    description: 'The changes of records that are sent to `{partner_url}/changes`.',
  })
  record_changes: RecordChangeName[];

  @Field(shownAuthRule, { required: true })
  auth: ShownAuth;

  @Field(pem)
  ca_pem: string | null;

  @Field(pem)
  client_cert_pem: string | null;

  @Field(integer(1000, 60_000))
  wait_ms: number | null;

  @Field(autoRetryOn, { required: true })
  auto_retry_on: string[];

  @Field(integer(1, 1000), { description: 'Maximum number of requests per second. With null there is no limit.' })
  max_per_second: number | null;

  @Field(oneOf(['UNVERIFIED', 'ACTIVE', 'SUSPENDED'], 'state_unknown'), { required: true })
  state: SubscriptionState;

  @Field(oneOf(['OPERATOR', 'PARTNER'], 'suspender_unknown'), {
    description:
      'The side that suspended the subscription. A partner cannot resume a subscription that an operator suspended. The suspension continues while a new address is unverified.',
  })
  suspended_by: 'OPERATOR' | 'PARTNER' | null;

  @Field(oneOf(['UP', 'DOWN'], 'health_unknown'), { required: true })
  health: PartnerHealth;

  @Field(dateTime(), { description: 'Time of the next probe of a partner that is DOWN.' })
  next_probe_at: string | null;

  @Field(dateTime(), { description: FAILING_SINCE_TEXT })
  failing_since: string | null;

  @Field(dateTime(), { description: PAUSED_UNTIL })
  paused_until: string | null;

  @Field(paceRule, { description: PACE })
  pace: number | null;

  @Field(dateTime(), { required: true })
  created_datetime: string;

  @Field(dateTime(), { required: true })
  updated_datetime: string;

  @ObjectListField(() => SubscriptionWarningModel, 1, {
    required: true,
    description: 'Settings that were accepted but may be a mistake. Usually the list is empty.',
  })
  warnings: SubscriptionWarningModel[];
}

export class SubscriptionWithSecret extends SubscriptionModel {
  @Field(text({ max: 100 }), { required: true, description: 'The signing secret. It is shown only once.' })
  signing_secret: string;
}
