import type { Caller } from '../../src/platform/context/caller';

/** Returns a caller that has no rights and uses the given application. */
export function callerOf(consumerKey: string): Caller {
  return {
    username: consumerKey,
    consumerKey,
    scopes: new Set<never>(),
    accountCodes: new Set<string>(),
    subscriptionIds: new Set<string>(),
    isOperator: false,
  };
}
