import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export interface Login {
  consumer_key: string;
  consumer_secret: string;
  username: string;
  password: string;
}

/** Values for the examples of an operation. The keys are the names of parameters and members. */
export type Values = Record<string, string>;

/**
 * The values with which the examples of the OpenAPI document work in this sandbox. The keys are operations, such as
 * `GET /admin/jobs/{job_id}`. The values under `*` apply to all operations.
 */
export type OperationValues = Record<string, Values>;

const MOST_WAIT_MS = 20_000;
const STEP_MS = 25;

/** Returns the address at which a server listens, for calls from its own process. */
export function ownAddress(server: { address(): AddressInfo | string | null }, host: string, basePath: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${/^(0\.0\.0\.0|::)$/.test(host) ? '127.0.0.1' : host}:${port}${basePath}`;
}

/** Calls the sandbox's own service over HTTP, as its operator. */
export class SandboxClient {
  private token = '';

  constructor(
    /** The address at which this process listens. */
    private readonly address: string,
    private readonly login: Login,
  ) {}

  async signIn(): Promise<void> {
    const { consumer_key, consumer_secret, username, password } = this.login;
    const response = await fetch(`${this.address}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${consumer_key}:${consumer_secret}`)}` },
      body: new URLSearchParams({ grant_type: 'password', username, password }),
    });
    this.token = ((await response.json()) as { access_token: string }).access_token;
  }

  async call<Answer = unknown>(method: string, path: string, body?: object | string, type?: string): Promise<Answer> {
    const response = await this.send(method, path, body, type);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }

  send(method: string, path: string, body?: object | string, type = 'application/json'): Promise<Response> {
    return fetch(this.address + path, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      body: typeof body === 'object' ? JSON.stringify(body) : body,
    });
  }

  async until(condition: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + MOST_WAIT_MS;
    while (!(await condition())) {
      if (performance.now() > end) throw new Error('The sandbox did not create its examples in time.');
      await pause(STEP_MS);
    }
  }
}
