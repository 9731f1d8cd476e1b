import type { QueryBus } from '@nestjs/cqrs';
import { FindUnknownTests } from '../accounts/accounts.queries.js';
import type { Fault } from '../platform/errors.js';

/**
 * Returns a fault at `/test_codes/<index>` for each unknown test. Entries that are undefined already have a fault, and
 * are skipped.
 */
export async function unknownTestFaults(
  queryBus: QueryBus,
  accountCode: string,
  testCodes: readonly (string | undefined)[],
): Promise<Fault[]> {
  const asked = testCodes.filter((code) => code !== undefined);
  const unknown = asked.length === 0 ? [] : await queryBus.execute(new FindUnknownTests(accountCode, asked));
  return unknown.map((testCode) => ({
    pointer: `/test_codes/${testCodes.indexOf(testCode)}`,
    code: 'test_unknown',
    detail: 'The account has no test with this code.',
  }));
}
