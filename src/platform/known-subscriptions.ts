import { Query } from '@nestjs/cqrs';

/** A subscription that is not deleted, with its account. */
export interface KnownSubscription {
  readonly id: string;
  readonly account_code: string;
}

/**
 * Asks which of the given subscriptions exist, and to which accounts they belong. The notifications module answers the
 * query, so that other modules need not read the table of subscriptions.
 */
export class FindKnownSubscriptions extends Query<KnownSubscription[]> {
  constructor(readonly ids: readonly string[]) {
    super();
  }
}
