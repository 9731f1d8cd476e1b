import { sessionState, type Session } from '../api/session';

/**
 * Returns whether the signed-in user is a partner and not an operator. A partner sees only the pages of its own
 * subscriptions.
 */
export function isPartner({ scopes }: Pick<Session, 'scopes'>): boolean {
  return scopes.includes('partner') && !scopes.includes('admin') && !scopes.includes('support');
}

/** Returns whether the user who is currently signed in is a partner and not an operator. */
export function isPartnerSignedIn(): boolean {
  const state = sessionState.get();
  return 'session' in state && isPartner(state.session);
}
