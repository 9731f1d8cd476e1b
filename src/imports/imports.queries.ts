import { Query } from '@nestjs/cqrs';

export interface ImportMark {
  readonly account_code: string;
  /** A value that changes whenever an import of the account begins, progresses or ends. */
  readonly mark: string;
}

/** Asks, for each account that has imports, for a value that shows whether its imports have progressed. */
export class MarkImports extends Query<readonly ImportMark[]> {}
