import { Injectable } from '@nestjs/common';
import type { Configuration } from 'openid-client';
import { AuthConfig } from '../auth.config.js';
import { HttpConfig } from '../../platform/http/http.config.js';
import type { OidcSettings } from '../oidc.config.js';
import { Database, prepared } from '../../platform/database/database.js';
import { Secrets, sha256 } from '../../platform/secrets.js';
import type { Identity } from '../administration/operator-identities.js';
import { groupsIn } from '../tokens/operator-rights.js';

/**
 * The time, in milliseconds, after which the metadata of the identity provider is read again, because the provider's
 * keys and addresses may change.
 */
const REMEMBERED_MS = 3600_000;
const TIMEOUT_S = 10;
/** The maximum duration of a sign-in at the provider, in seconds. */
export const SIGN_IN_S = 600;
const PURPOSE = 'operator sign-in';
/**
 * The allowed form of the `sub` claim, which has 1 to 255 ASCII characters (OpenID Connect Core §2). An empty `sub`
 * would not distinguish one person from another.
 */
const SUBJECT = /^(?=.*[^ ])[\x20-\x7e]{1,255}$/;

// Marks a sign-in as finished. The row is kept until every process rejects the cookie of the sign-in as expired, even
// if the clocks of the processes differ.
const FINISH = prepared(
  'identity-provider-finish',
  `INSERT INTO finished_sign_ins (state_hash, forget_at) VALUES ($1, now() + make_interval(secs => ${2 * SIGN_IN_S}))
   ON CONFLICT DO NOTHING`,
);

/** The state of an unfinished sign-in at the provider, kept encrypted in a cookie. */
interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly until: number;
}

export interface SignedIn {
  readonly identity: Identity;
  readonly groups: readonly string[];
}

/** Thrown if the sign-in was not started in this browser, or took too long. */
export class UnknownAttempt extends Error {}
/** Thrown if the provider omitted the person's groups, for example because the person has too many groups. */
export class GroupsUnknown extends Error {}
/** Thrown if the provider or the person declined the sign-in. */
export class SignInDenied extends Error {}

/**
 * Signs operators in at the organisation's OpenID Connect provider, with the authorization code flow (OpenID Connect
 * Core §3.1).
 *
 * 1. `begin` creates a state, a nonce and a PKCE verifier (RFC 7636). The browser keeps all three, encrypted, in a
 *    cookie, so that no process has to store them.
 * 2. The browser is redirected to the provider and returns with a code and the state.
 * 3. `finish` works only with the cookie of step 1, and only once. It compares the state with the cookie. It records
 *    the state as used even when the sign-in fails. The code is exchanged for an ID token, with the verifier and the
 *    client's secret. The ID token's signature, issuer, audience, time and nonce are checked. The groups are read from
 *    the ID token, or from the provider's user information.
 *
 * Never trust a claim unless it is from an ID token that passed the checks of step 3. Only names and groups may also be
 * from the user information. Never store a token of the provider.
 */
@Injectable()
export class IdentityProvider {
  private known: { configuration: Promise<Configuration>; until: number } | null = null;

  constructor(
    private readonly config: AuthConfig,
    private readonly http: HttpConfig,
    private readonly secrets: Secrets,
    private readonly database: Database,
  ) {}

  get settings(): OidcSettings | null {
    return this.config.oidc;
  }

  async begin(): Promise<{ address: URL; state: string; attempt: string }> {
    const oidc = await import('openid-client');
    const provider = await this.discovered();
    const attempt: Attempt = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
      until: Date.now() + SIGN_IN_S * 1000,
    };
    const { scopes_supported = [] } = provider.serverMetadata();
    const address = oidc.buildAuthorizationUrl(provider, {
      redirect_uri: this.returnAddress,
      scope: ['openid', 'profile', 'email', ...scopes_supported.filter((scope) => scope === 'groups')].join(' '),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    });
    const sealed = this.secrets.encrypt(JSON.stringify(attempt), PURPOSE).toString('base64url');
    return { address, state: attempt.state, attempt: sealed };
  }

  /**
   * Finishes a sign-in.
   * @param query the query string of the address to which the browser returned
   * @throws UnknownAttempt, SignInDenied, GroupsUnknown, and openid-client's errors for an invalid response from the
   * provider
   */
  async finish(kept: string | null, query: string): Promise<SignedIn> {
    const attempt = this.opened(kept);
    const oidc = await import('openid-client');
    const provider = await this.discovered();
    const address = new URL(`${this.returnAddress}${query}`);
    if (address.searchParams.get('state') !== attempt.state) throw new UnknownAttempt('another state');
    if ((await this.database.execute(FINISH, [sha256(attempt.state)])) === 0)
      throw new UnknownAttempt('finished before');
    const tokens = await oidc
      .authorizationCodeGrant(provider, address, {
        pkceCodeVerifier: attempt.verifier,
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        idTokenExpected: true,
      })
      .catch((error: unknown) => {
        if (error instanceof oidc.AuthorizationResponseError) throw new SignInDenied(error.error, { cause: error });
        throw error;
      });
    const claims = tokens.claims()!;
    if (!SUBJECT.test(claims.sub)) throw new Error('The provider names a subject that cannot be one.');
    const { groupsClaim } = this.settings!;
    const more =
      claims[groupsClaim] === undefined && provider.serverMetadata().userinfo_endpoint !== undefined
        ? await oidc.fetchUserInfo(provider, tokens.access_token, claims.sub)
        : {};
    const all: Record<string, unknown> = { ...more, ...claims };
    const names = [all['preferred_username'], all['email'], claims.sub].filter((name) => typeof name === 'string');
    const groups = groupsIn(all, groupsClaim);
    if (groups === null) throw new GroupsUnknown();
    return { identity: { issuer: claims.iss, subject: claims.sub, names }, groups };
  }

  /**
   * Returns the address at which the browser ends its session at the provider and is redirected back (OpenID Connect
   * RP-Initiated Logout §2). Returns null if the provider has no such address. The service keeps no ID token that it
   * could send as a hint, so the provider may ask the person to confirm the sign-out.
   */
  async signOutAddress(): Promise<URL | null> {
    const provider = await this.discovered();
    if (provider.serverMetadata().end_session_endpoint === undefined) return null;
    const oidc = await import('openid-client');
    return oidc.buildEndSessionUrl(provider, { post_logout_redirect_uri: `${this.http.baseUrl}/console` });
  }

  private get returnAddress(): string {
    return `${this.http.baseUrl}/console/sign-in/callback`;
  }

  private opened(kept: string | null): Attempt {
    if (kept === null) throw new UnknownAttempt('no cookie');
    let attempt: Attempt;
    try {
      attempt = JSON.parse(this.secrets.decrypt(Buffer.from(kept, 'base64url'), PURPOSE).toString()) as Attempt;
    } catch (error) {
      throw new UnknownAttempt('a cookie of somebody else', { cause: error });
    }
    if (attempt.until < Date.now()) throw new UnknownAttempt('too late');
    return attempt;
  }

  private discovered(): Promise<Configuration> {
    if (this.known === null || this.known.until < Date.now()) {
      const configuration = this.discover(this.settings!);
      // A failed read of the provider's metadata is not cached: the next sign-in reads the metadata again.
      configuration.catch(() => (this.known = null));
      this.known = { configuration, until: Date.now() + REMEMBERED_MS };
    }
    return this.known.configuration;
  }

  private async discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
    const oidc = await import('openid-client');
    // Requests over HTTP are allowed if the issuer's address begins with `http:`. The settings accept such an address
    // only for a provider on this machine.
    const onThisMachine = issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
    return oidc.discovery(issuer, clientId, undefined, oidc.ClientSecretBasic(clientSecret), {
      execute: [...onThisMachine, oidc.enableNonRepudiationChecks],
      timeout: TIMEOUT_S,
    });
  }
}
