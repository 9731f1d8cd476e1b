import type { Login } from './service-process.js';

/** An answer that was not the one asked for. */
class UnexpectedAnswer extends Error {}

/** Calls the service over HTTP as one user of one application. */
export class HttpClient {
  private constructor(
    private readonly baseUrl: string,
    private readonly token: string,
  ) {}

  /** Gets a token by the password grant. */
  static async login(baseUrl: string, login: Login): Promise<{ client: HttpClient; token: string; scope: string }> {
    const response = await fetch(`${baseUrl}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${login.consumer_key}:${login.consumer_secret}`).toString('base64')}`,
      },
      body: new URLSearchParams({ grant_type: 'password', username: login.username, password: login.password }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new UnexpectedAnswer(`POST /token answered ${response.status}: ${text}`);
    const { access_token, scope } = JSON.parse(text) as { access_token: string; scope: string };
    return { client: new HttpClient(baseUrl, access_token), token: access_token, scope };
  }

  /** @throws UnexpectedAnswer when the status is not `expected` */
  async call<Body = undefined>(expected: number, method: string, path: string, body?: object): Promise<Body> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (response.status !== expected)
      throw new UnexpectedAnswer(`${method} ${path} answered ${response.status} in place of ${expected}:\n${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  }
}
