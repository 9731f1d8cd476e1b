import { sessionState, type Session } from '../api/session';

/**
 * Returns whether the signed-in user is a partner and no operator. Such a user sees the pages of its own subscriptions
 * only.
 */
export function isPartner({ scopes }: Pick<Session, 'scopes'>): boolean {
  return scopes.includes('partner') && !scopes.includes('admin') && !scopes.includes('support');
}

/** Returns whether the user who is signed in at the moment is a partner and no operator. */
export function isPartnerSignedIn(): boolean {
  const state = sessionState.get();
  return 'session' in state && isPartner(state.session);
}
