import { Query } from '@nestjs/cqrs';

/** Unmatched results that wait for an operator. */
export interface UnmatchedCount {
  /** The accounts that they concern. */
  readonly account_codes: readonly string[];
  readonly count: number;
  /** Another when others wait in their place. */
  readonly which: string;
}

/** Of all accounts; counted up to 10,000. */
export class CountUnmatched extends Query<UnmatchedCount[]> {}
