import { Query } from '@nestjs/cqrs';

/** The number of unmatched results that wait for an operator. */
export interface UnmatchedCount {
  /** The accounts concerned. */
  readonly account_codes: readonly string[];
  readonly count: number;
  /** Changes when other results wait, even if their number is the same. */
  readonly which: string;
}

/** Asks for the counts of all accounts, up to 10,000. */
export class CountUnmatched extends Query<UnmatchedCount[]> {}
