export const SCOPES = ['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who is calling: the user that the access token was issued to, through an application. */
export interface Caller {
  readonly username: string;
  readonly consumerKey: string;
  /** The scopes of the token. */
  readonly scopes: ReadonlySet<Scope>;
  /** The accounts of the user; an operator may act on every account. */
  readonly accountCodes: ReadonlySet<string>;
  readonly isOperator: boolean;
}
