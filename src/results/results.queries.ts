import { Query } from '@nestjs/cqrs';

/** The number of unmatched results that wait for an operator. */
export interface UnmatchedCount {
  /** The codes of the accounts to which the unmatched results may belong. */
  readonly account_codes: readonly string[];
  readonly count: number;
  /** A value that changes when the set of waiting results changes, even if their number stays the same. */
  readonly which: string;
}

/** Asks for the number of waiting unmatched results in all accounts, where at most 10,000 are counted. */
export class CountUnmatched extends Query<UnmatchedCount[]> {}
