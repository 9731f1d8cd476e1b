import { Query } from '@nestjs/cqrs';

export interface ImportMark {
  readonly account_code: string;
  /** A value that changes whenever an import of the account begins, progresses or ends. */
  readonly mark: string;
}

/** Asks for the values that show the progress of the imports, for all accounts. */
export class MarkImports extends Query<readonly ImportMark[]> {}
