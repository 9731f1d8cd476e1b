import { Query } from '@nestjs/cqrs';

/**
 * Those of the test codes that the account does not have. The tests that it has cannot be deleted before the caller's
 * transaction ends.
 */
export class FindUnknownTests extends Query<string[]> {
  constructor(
    readonly accountCode: string,
    readonly testCodes: string[],
  ) {
    super();
  }
}
