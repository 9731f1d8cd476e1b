/** Declares the types of the part of simple-oauth2 that the tests use, because the package has no types. */
declare module 'simple-oauth2' {
  export interface AccessToken {
    readonly token: { access_token: string; refresh_token: string; scope: string; expires_at: Date };
    refresh(parameters?: { scope?: string }): Promise<AccessToken>;
    revoke(kind: 'access_token' | 'refresh_token'): Promise<unknown>;
    revokeAll(): Promise<void>;
  }
  export class ResourceOwnerPassword {
    constructor(options: {
      client: { id: string; secret: string };
      auth: { tokenHost: string; tokenPath: string; revokePath: string };
    });
    getToken(parameters: { username: string; password: string; scope?: string }): Promise<AccessToken>;
  }
}
