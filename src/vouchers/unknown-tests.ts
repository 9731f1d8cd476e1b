import type { QueryBus } from '@nestjs/cqrs';
import { FindUnknownTests } from '../accounts/accounts.queries.js';
import type { Fault } from '../platform/errors.js';

/** Returns a fault for each unknown test at its index in `/test_codes`; undefined entries already have a fault. */
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
