import { OptionalBody } from '../../platform/http/request-form.js';
import { Field, ObjectField } from '../../platform/validation/fields.js';
import { uuidRule } from '../../platform/validation/identifiers.js';
import { dateTime, listOf, text } from '../../platform/validation/rules.js';
import { SubscriptionStatistics } from '../error-queue/statistics-reader.js';
import { SubscriptionModel } from '../subscriptions/subscriptions.dto.js';

const MOST_IDS = 1000;

/** A single subscription, as its partner sees it. */
export class OwnSubscription extends SubscriptionModel {
  @ObjectField(() => SubscriptionStatistics, {
    required: true,
    description: 'The delivery statistics of the subscription.',
  })
  statistics: SubscriptionStatistics;
}

/** The conditions that select the notifications that a partner requests again. All conditions must match. */
@OptionalBody
export class OwnReplayBody {
  @Field(dateTime(), { description: 'Only notifications that were created at this time or later.' })
  from?: string;

  @Field(dateTime('end'), { description: 'Only notifications that were created before this time.' })
  to?: string;

  @Field(text({ min: 1, max: 50 }))
  booking_code?: string;

  @Field(listOf(uuidRule, MOST_IDS, 1), {
    description:
      'Only these notifications. Those in the error queue that are not retried automatically are sent again too. ' +
      'Ids that belong to no notification of the caller are ignored.',
  })
  ids?: string[];
}
