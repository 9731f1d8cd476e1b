import type { Caller } from '../../src/platform/context/caller';

/** Returns a caller of this application without any right. */
export function callerOf(consumerKey: string): Caller {
  return {
    username: consumerKey,
    consumerKey,
    scopes: new Set<never>(),
    accountCodes: new Set<string>(),
    isOperator: false,
  };
}
