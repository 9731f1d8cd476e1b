import { Query } from '@nestjs/cqrs';

export interface ImportMark {
  readonly account_code: string;
  /** A value that changes whenever an import of the account begins, progresses or ends. */
  readonly mark: string;
}

/** Asks for the marks of all accounts that have imports. A mark shows whether the account's imports have progressed. */
export class MarkImports extends Query<readonly ImportMark[]> {}
