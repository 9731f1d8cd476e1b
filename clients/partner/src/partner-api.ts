/**
 * Calls the service as a partner. The calls use a token with the `partner` scope, which is obtained by the client
 * credentials grant.
 */
export interface PartnerApiOptions {
  /** The service's base URL, without `/partner`. */
  baseUrl: string;
  consumerKey: string;
  consumerSecret: string;
  subscriptionId: string;
}

/**
 * Thrown when the service responded with an error. `code` is the code in the problem document, if the response
 * contained one.
 */
export class PartnerApiError extends Error {
  override readonly name = 'PartnerApiError';

  constructor(
    readonly status: number,
    readonly code: string,
    path: string,
  ) {
    super(`${path} answered ${status} ${code}`);
  }
}

export interface PartnerResponse<T> {
  body: T;
  /** The address of the next page; null on the last page. */
  next: string | null;
}

export class PartnerApi {
  readonly subscriptionId: string;
  /** The number of calls so far, not counting the requests for tokens. */
  calls = 0;
  private readonly baseUrl: string;
  private token: string | null = null;

  constructor(private readonly options: PartnerApiOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.subscriptionId = options.subscriptionId;
  }

  /**
   * Sends a request to a path without a leading slash, such as `partner/digest`, and parses the response. After a 401,
   * it obtains a new token and repeats the request once.
   * @throws PartnerApiError
   */
  async call<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<PartnerResponse<T>> {
    this.calls += 1;
    for (let isFirst = true; ; isFirst = false) {
      this.token ??= await this.newToken();
      const response = await fetch(new URL(path, `${this.baseUrl}/`), {
        method,
        headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.ok) {
        const [, next = null] = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
        return { body: JSON.parse(text) as T, next };
      }
      if (response.status !== 401 || !isFirst) throw new PartnerApiError(response.status, codeOf(text), path);
      this.token = null;
    }
  }

  private async newToken(): Promise<string> {
    const { consumerKey, consumerSecret } = this.options;
    const basic = [consumerKey, consumerSecret].map(encodeURIComponent).join(':');
    const response = await fetch(`${this.baseUrl}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(basic).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'partner' }),
    });
    const text = await response.text();
    if (!response.ok) throw new PartnerApiError(response.status, codeOf(text), 'token');
    return (JSON.parse(text) as { access_token: string }).access_token;
  }
}

function codeOf(text: string): string {
  try {
    const { code, error } = JSON.parse(text) as { code?: string; error?: string };
    return code ?? error ?? '';
  } catch {
    return '';
  }
}
