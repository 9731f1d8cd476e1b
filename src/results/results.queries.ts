import { Query } from '@nestjs/cqrs';

/** The number of unmatched results that wait for an operator. */
export interface UnmatchedCount {
  /** The codes of the accounts to which the unmatched results may belong. */
  readonly account_codes: readonly string[];
  readonly count: number;
  /** A value that changes when the set of waiting results changes, even if their number stays the same. */
  readonly which: string;
}

/** Asks for the number of waiting unmatched results in all accounts. At most 10,000 results are counted. */
export class CountUnmatched extends Query<UnmatchedCount[]> {}

/** Unmatched results that have waited for an operator for too long and may belong to the same accounts. */
export interface OverdueUnmatched {
  /** The accounts to which the unmatched results may belong; empty if none is known. */
  readonly account_codes: readonly string[];
  readonly count: number;
  readonly oldest: Date;
  readonly newest: Date;
}

/** Asks for the unmatched results that have waited for more than the given number of minutes, in all accounts. */
export class SurveyOverdueUnmatched extends Query<OverdueUnmatched[]> {
  constructor(readonly minutes: number) {
    super();
  }
}
