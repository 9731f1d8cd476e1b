import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface Person {
  sub: string;
  preferred_username?: string;
  email?: string;
  groups?: unknown;
  _claim_names?: Record<string, string>;
}

/** A real OpenID Connect provider (`oidc-provider`) in a separate process. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Sets the person who is signed in to the provider from now on. If it is null, the provider refuses everybody. */
  person(person: Person | null): Promise<void>;
  stop(): void;
}

export async function startIdentityProvider(returnAddress: string): Promise<IdentityProvider> {
  const child = spawn(process.execPath, [join(__dirname, 'organisation.mjs'), returnAddress], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [issuer] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    issuer,
    person: async (person) => {
      await fetch(`${issuer}/person`, { method: 'PUT', body: JSON.stringify(person) });
    },
    stop: () => void child.kill(),
  };
}

/** Returns a free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Simulates a browser that follows redirects and has cookies, which all hosts share. */
export class CookieJar {
  private readonly cookies = new Map<string, string>();

  get header(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  get(name: string): string | undefined {
    return this.cookies.get(name);
  }

  keep(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }

  async visit(address: string): Promise<Response> {
    const response = await fetch(address, { redirect: 'manual', headers: { cookie: this.header } });
    this.keep(response.headers);
    return response;
  }

  async post(address: string, form: Record<string, string>): Promise<Response> {
    const body = new URLSearchParams(form);
    const response = await fetch(address, {
      method: 'POST',
      redirect: 'manual',
      body,
      headers: { cookie: this.header },
    });
    this.keep(response.headers);
    return response;
  }

  /**
   * Follows redirects until there is no further redirect, or until `enough` returns true for the next address. That
   * address is not visited. Throws an error after ten visits.
   */
  async follow(address: string, enough: (address: string) => boolean = () => false): Promise<[Response, string]> {
    for (let hops = 0, at = address; hops < 10; hops++) {
      const response = await this.visit(at);
      const next = response.headers.get('location');
      if (next === null) return [response, at];
      at = new URL(next, at).href;
      if (enough(at)) return [response, at];
    }
    throw new Error('It leads in a circle.');
  }
}
