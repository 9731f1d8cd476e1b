/** An actor, an action and its subject. `subject` is a code or an id, never a name or a secret. */
export interface AuditEntry {
  readonly actor: string;
  /** Consumer key of the calling application; null for work of the service itself. */
  readonly application: string | null;
  readonly accountCode: string | null;
  readonly action: string;
  readonly subject: string;
  readonly requestId: string | null;
  /** Names of the members that changed, never their values; null when the action already says everything. */
  readonly changed: readonly string[] | null;
  /** The number of calls that the entry stands for, when one entry counts several calls. */
  readonly count: number | null;
  /** Pseudonym of the address of a refused caller. */
  readonly address: string | null;
}

/** Details of an action beyond its name and subject. */
export interface AuditDetails {
  /** Defaults to the caller of the running request. */
  readonly actor?: string;
  readonly application?: string;
  /** The account that the subject belongs to; defaults to the account in the request's path. */
  readonly accountCode?: string | null;
  /** Defaults to the members of the request's body. */
  readonly changed?: readonly string[];
  readonly count?: number;
  readonly address?: string;
}
