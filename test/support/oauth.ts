import { CommandBus } from '@nestjs/cqrs';
import { CreateApplication, CreateUser, type Assignments } from '../../src/auth/auth.commands';
import type { Grant } from '../../src/auth/tokens/application.entity';
import { CLIENT_SCOPES, type Scope } from '../../src/platform/context/caller';
import type { Answer, TestApp } from './app';

export { CLIENT_SCOPES };

export interface Login {
  account: string;
  username: string;
  password: string;
  consumer_key: string;
  consumer_secret: string;
}

export type Client = Pick<Login, 'consumer_key' | 'consumer_secret'>;

interface Setup {
  scopes?: readonly Scope[];
  applicationScopes?: readonly Scope[];
  grants?: readonly Grant[];
}

/** Calls the token service of an application under test. */
export class OAuth {
  constructor(private readonly app: TestApp) {}

  get commands(): CommandBus {
    return this.app.app.get(CommandBus, { strict: false });
  }

  /** Creates a user of an account with a separate application. */
  async login({ scopes = CLIENT_SCOPES, applicationScopes = scopes, grants }: Setup = {}): Promise<Login> {
    const account = await this.app.given.account();
    const username = this.app.given.unique('user-');
    const password = this.app.given.unique('a long password ');
    await this.commands.execute(new CreateUser(username, password, [account], scopes));
    return { account, username, password, ...(await this.application(applicationScopes, grants)) };
  }

  application(
    scopes: readonly Scope[] = CLIENT_SCOPES,
    grants?: readonly Grant[],
    assignments?: Assignments,
  ): Promise<Client> {
    return this.commands.execute(new CreateApplication('test', scopes, grants, assignments));
  }

  /** Requests a token for the application itself, with the `client_credentials` grant. */
  ofApplication(client: Client, more: Record<string, string> = {}): Promise<Answer> {
    return this.post('/token', client, { grant_type: 'client_credentials', ...more });
  }

  /** Sends a form by POST, authenticated as the client. If the form is a string, it is sent unchanged. */
  post(
    path: string,
    client: Client | null,
    form: Record<string, string> | string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.app.call('POST', path, {
      body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(client ? { authorization: basic(client) } : {}),
        ...headers,
      },
    });
  }

  byPassword(login: Login, more: Record<string, string> = {}): Promise<Answer> {
    const { username, password } = login;
    return this.post('/token', login, { grant_type: 'password', username, password, ...more });
  }

  byRefreshToken(client: Client, refreshToken: string, more: Record<string, string> = {}): Promise<Answer> {
    return this.post('/token', client, { grant_type: 'refresh_token', refresh_token: refreshToken, ...more });
  }

  /** Requests tokens with the password grant, and returns the body of the successful response. */
  async tokens(login: Login, more: Record<string, string> = {}): Promise<Record<string, string>> {
    const answer = await this.byPassword(login, more);
    if (answer.status !== 200) throw new Error(`No tokens: ${answer.status} ${answer.text}`);
    return answer.body as Record<string, string>;
  }

  /**
   * Calls a protected route of the account with the token. Returns the response, which is 404 if the service accepts
   * the token.
   */
  async knock(login: Login, token: string): Promise<Answer> {
    return this.app.call('GET', `/accounts/${login.account}/candidates/nobody`, { token });
  }
}

export function basic({ consumer_key, consumer_secret }: Client): string {
  return `Basic ${Buffer.from(`${consumer_key}:${consumer_secret}`).toString('base64')}`;
}
