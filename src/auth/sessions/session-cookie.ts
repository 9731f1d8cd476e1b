import type { CookieOptions, Request, Response } from 'express';
import { Injectable } from '@nestjs/common';
import { HttpConfig } from '../../platform/http/http.config.js';

/**
 * Sets and reads the console's cookies. Scripts cannot read them, and pages of other sites cannot make a browser send
 * them with an API call (`SameSite`). If the names of the cookies have the prefix `__Host-`, other hosts of the same
 * domain cannot set the cookies either.
 */
@Injectable()
export class ConsoleCookies {
  constructor(private readonly config: HttpConfig) {}

  read(request: Request, name: string): string | null {
    const wanted = this.nameOf(name);
    for (const pair of (request.headers.cookie ?? '').split(';')) {
      const [key = '', value = ''] = pair.trim().split('=');
      if (key === wanted) return value;
    }
    return null;
  }

  /**
   * Returns the names of the request's cookies, if they begin with the given prefix. The names have the same order as
   * in the header, which is oldest first (RFC 6265 §5.4).
   */
  namesWith(request: Request, prefix: string): string[] {
    const own = this.nameOf('');
    const names = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('=')[0] ?? '');
    return names.filter((name) => name.startsWith(own + prefix)).map((name) => name.slice(own.length));
  }

  /**
   * Sets a cookie in the response.
   * @param value the value, which consists of base64url characters
   * @param maxAgeS the cookie's lifetime in seconds; if omitted, the browser deletes the cookie when the browser closes
   */
  set(response: Response, name: string, value: string, sameSite: 'strict' | 'lax', maxAgeS?: number): void {
    const life = maxAgeS === undefined ? {} : { maxAge: maxAgeS * 1000 };
    response.cookie(this.nameOf(name), value, { ...this.attributes(), sameSite, ...life });
  }

  clear(response: Response, name: string): void {
    response.clearCookie(this.nameOf(name), this.attributes());
  }

  private attributes(): CookieOptions {
    return { path: '/', httpOnly: true, secure: this.secure };
  }

  private nameOf(name: string): string {
    return this.secure ? `__Host-${name}` : name;
  }

  /**
   * Whether cookies are set with the `Secure` attribute. Browsers accept such cookies only from https addresses and
   * from `localhost`.
   */
  private get secure(): boolean {
    const { protocol, hostname } = new URL(this.config.baseUrl);
    return protocol === 'https:' || hostname === 'localhost';
  }
}

/**
 * The header that the console's pages send with every API call. A form or link on another site cannot send this header.
 */
export const CONSOLE_REQUEST = 'Console-Request';

/**
 * Returns whether a script of the console's own pages made the request. Browsers do not let pages of other origins add
 * the `Console-Request` header (Fetch, CORS-safelisted headers).
 */
export function isFromConsole(request: Request): boolean {
  const site = request.headers['sec-fetch-site'];
  return request.headers[CONSOLE_REQUEST.toLowerCase()] === '1' && (site === undefined || site === 'same-origin');
}
