/** An actor, an action and its subject. `subject` is a code or an id, never a name or a secret. */
export interface AuditEntry {
  readonly actor: string;
  /** Consumer key of the application that the call came through; null for work of the service itself. */
  readonly application: string | null;
  readonly accountCode: string | null;
  readonly action: string;
  readonly subject: string;
  readonly requestId: string | null;
  /** Names of the members that changed, never their values; null where the action says all. */
  readonly changed: readonly string[] | null;
  /** How many calls the entry stands for, where it gathers them. */
  readonly count: number | null;
  /** Pseudonym of the address of a refused caller. */
  readonly address: string | null;
}

/** Details of an action beyond its name and subject. */
export interface AuditDetails {
  /** By default the caller of the running request. */
  readonly actor?: string;
  readonly application?: string;
  /** The account that the subject belongs to; by default the one that the request's path names. */
  readonly accountCode?: string | null;
  /** By default the members of the request's body. */
  readonly changed?: readonly string[];
  readonly count?: number;
  readonly address?: string;
}
