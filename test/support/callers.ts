import type { Caller } from '../../src/platform/context/caller';

/** Who calls by this application, and may do nothing. */
export function callerOf(consumerKey: string): Caller {
  return {
    username: consumerKey,
    consumerKey,
    scopes: new Set<never>(),
    accountCodes: new Set<string>(),
    isOperator: false,
  };
}
