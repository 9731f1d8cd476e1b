import { formatOptionalDateTime } from '../platform/clock.js';
import { Field } from '../platform/validation/fields.js';
import { uuidRule } from '../platform/validation/identifiers.js';
import { dateTime, integer, oneOf, text } from '../platform/validation/rules.js';
import type { PartnerCondition } from './notifications.queries.js';
import { FAILING_SINCE_TEXT, NO_ADDRESS_SHOWN, PACE, paceRule, PAUSED_UNTIL } from './subscriptions/pace.fields.js';
import { DELIVERIES, type PartnerDelivery } from './subscriptions/subscription.entity.js';
import { shownPace } from './subscriptions/partner-standing.js';

/** The condition of a partner, as HTTP responses show it. */
export class PartnerConditionModel {
  @Field(uuidRule, { required: true })
  subscription_id: string;

  @Field(text({ max: 50 }), { required: true })
  account_code: string;

  @Field(text({ max: 100 }), { always: true })
  subscription_name: string | null;

  @Field(text({ max: 2000 }), { always: true, description: NO_ADDRESS_SHOWN })
  partner_url: string | null;

  @Field(oneOf(DELIVERIES, 'delivery_unknown'), { required: true })
  delivery: PartnerDelivery;

  @Field(oneOf(['UNVERIFIED', 'ACTIVE', 'SUSPENDED'], 'state_unknown'), { required: true })
  state: string;

  @Field(oneOf(['UP', 'DOWN'], 'health_unknown'), { required: true })
  health: string;

  @Field(dateTime(), {
    always: true,
    description: 'Time since which the partner is DOWN. The value is null when it is UP.',
  })
  down_since: string | null;

  @Field(dateTime(), { always: true, description: 'Time of the next probe of a partner that is DOWN.' })
  next_probe_at: string | null;

  @Field(dateTime(), { always: true, description: PAUSED_UNTIL })
  paused_until: string | null;

  @Field(paceRule, { always: true, description: PACE })
  pace: number | null;

  @Field(dateTime(), {
    always: true,
    description: FAILING_SINCE_TEXT,
  })
  failing_since: string | null;

  @Field(dateTime(), { always: true, description: 'Expiry time of the certificate that the partner last used.' })
  certificate_not_after: string | null;

  @Field(integer(0, Number.MAX_SAFE_INTEGER), {
    required: true,
    description: 'Number of notifications of the partner in the error queue.',
  })
  queued: number;
}

export function presentPartner(partner: PartnerCondition, now: Date): PartnerConditionModel {
  const { paused_until, pace } = shownPace(partner, now);
  const isDown = partner.health === 'DOWN';
  return {
    subscription_id: partner.subscription_id,
    account_code: partner.account_code,
    subscription_name: partner.subscription_name,
    partner_url: partner.partner_url,
    delivery: partner.delivery,
    state: partner.state,
    health: partner.health,
    down_since: isDown ? formatOptionalDateTime(partner.health_changed_at) : null,
    next_probe_at: isDown ? formatOptionalDateTime(partner.next_probe_at) : null,
    paused_until: formatOptionalDateTime(paused_until),
    pace,
    failing_since: formatOptionalDateTime(partner.failing_since),
    certificate_not_after: formatOptionalDateTime(partner.certificate_not_after),
    queued: partner.queued,
  };
}
