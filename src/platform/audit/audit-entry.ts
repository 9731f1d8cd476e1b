/**
 * An audit entry: an actor, an action and the subject of the action. `subject` is a code or an id, never a name or a
 * secret.
 */
export interface AuditEntry {
  readonly actor: string;
  /** The consumer key of the calling application; null for work that no application requested. */
  readonly application: string | null;
  readonly accountCode: string | null;
  readonly action: string;
  readonly subject: string;
  readonly requestId: string | null;
  /**
   * The names of the members that the action changed, without their values; null if the name of the action alone
   * describes the change.
   */
  readonly changed: readonly string[] | null;
  /**
   * The number of refused requests, or of polled notifications, that the entry summarizes; null for an entry about one
   * action.
   */
  readonly count: number | null;
  /** The pseudonym of the address from which a refused request came; null for an entry about anything else. */
  readonly address: string | null;
}

/** The optional details of an audit entry, in addition to its action and subject. */
export interface AuditDetails {
  /** The user name of the actor; by default the caller of the current request. */
  readonly actor?: string;
  readonly application?: string;
  /** The account to which the subject belongs; by default the account in the path of the request. */
  readonly accountCode?: string | null;
  /** The names of the changed members; by default, all members of the request's body. */
  readonly changed?: readonly string[];
  readonly count?: number;
  readonly address?: string;
}
