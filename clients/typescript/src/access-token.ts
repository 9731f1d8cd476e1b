/**
 * Manages one access token for all calls:
 *
 * 1. The first call requests the token with the user's password. Concurrent calls wait for the same response.
 * 2. Shortly before the token expires, the next call refreshes it for all calls.
 * 3. If the refresh is refused because the refresh token has been used or has expired, the password is sent again.
 * 4. If a call is answered with 401, the token of this call is dropped, and the call is repeated with a new token.
 *    Another call may already have dropped the token and requested the new one.
 */
export interface Credentials {
  consumerKey: string;
  consumerSecret: string;
  username: string;
  password: string;
  /** The requested scopes, separated by spaces; all permitted scopes by default. */
  scope?: string;
}

/** Thrown when the token service refuses a request; `code` is an error code of RFC 6749 §5.2. */
export class TokenError extends Error {
  override readonly name = 'TokenError';

  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(`The token service answered ${status} ${code}.`);
  }
}

const EARLY_MS = 30_000;

interface Held {
  accessToken: string;
  refreshToken: string;
  until: number;
}

export class AccessToken {
  private held: Held | null = null;
  private asking: Promise<Held> | null = null;

  constructor(
    private readonly tokenUrl: string,
    private readonly credentials: Credentials,
    private readonly fetch: (address: string, init: RequestInit) => Promise<Response>,
  ) {}

  async get(): Promise<string> {
    if (this.held !== null && Date.now() < this.held.until) return this.held.accessToken;
    this.asking ??= this.ask().finally(() => (this.asking = null));
    return (await this.asking).accessToken;
  }

  /** Drops an access token that the service no longer accepts. */
  drop(accessToken: string): void {
    if (this.held?.accessToken === accessToken) this.held.until = 0;
  }

  private async ask(): Promise<Held> {
    const { username, password, scope } = this.credentials;
    const asked: Record<string, string> = scope === undefined ? {} : { scope };
    const refreshToken = this.held?.refreshToken;
    if (refreshToken !== undefined)
      try {
        return (this.held = await this.post({ grant_type: 'refresh_token', refresh_token: refreshToken, ...asked }));
      } catch (error) {
        if (!(error instanceof TokenError) || error.status !== 400) throw error;
        this.held = null;
      }
    return (this.held = await this.post({ grant_type: 'password', username, password, ...asked }));
  }

  private async post(form: Record<string, string>): Promise<Held> {
    const { consumerKey, consumerSecret } = this.credentials;
    const response = await this.fetch(`${this.tokenUrl}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}` },
      body: new URLSearchParams(form),
    });
    const answer = (await response.json().catch(() => ({}))) as Record<string, string | number | undefined>;
    if (response.status !== 200) throw new TokenError(response.status, String(answer['error'] ?? 'unreadable'));
    const lifeMs = Number(answer['expires_in']) * 1000;
    return {
      accessToken: String(answer['access_token']),
      refreshToken: String(answer['refresh_token']),
      until: Date.now() + lifeMs - Math.min(EARLY_MS, lifeMs / 2),
    };
  }
}
