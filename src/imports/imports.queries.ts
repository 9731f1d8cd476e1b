import { Query } from '@nestjs/cqrs';

export interface ImportMark {
  readonly account_code: string;
  /** Changes whenever an import of the account begins, progresses or ends. */
  readonly mark: string;
}

/** Asks for the marks of all accounts that have imports. */
export class MarkImports extends Query<readonly ImportMark[]> {}
