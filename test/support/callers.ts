import type { Caller } from '../../src/platform/context/caller';

/** Returns a caller that belongs to this application and has no rights. */
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
