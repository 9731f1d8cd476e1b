import { CONSOLE_PATH, ROOT } from './root';

/** The API's addresses of the data of two pages, by the path of the page below `/console`. */
const ADDRESSES = new Map([
  ['', 'admin/overview'],
  ['/queue', 'admin/error-queue/summary'],
]);
/** The time, in milliseconds, after which an unused response is out of date. */
const FRESH_MS = 5_000;

interface Early {
  readonly url: string;
  readonly response: Promise<Response>;
  readonly since: number;
}

let early: Early | null = null;

/** Requests the data of the current page while the program is still being loaded. */
export function requestEarly(send: (url: string) => Promise<Response>): void {
  const address = ADDRESSES.get(location.pathname.slice(CONSOLE_PATH.length).replace(/\/$/, ''));
  if (address === undefined) return;
  const { href: url } = new URL(address, ROOT);
  early = { url, response: send(url), since: performance.now() };
  // The error is handled by the page that uses the response.
  early.response.catch(() => undefined);
}

/** Returns the response that {@link requestEarly} has requested, once; null if the request is a different one. */
export function takeEarly({ method, url }: Request): Promise<Response> | null {
  if (early === null || method !== 'GET' || url !== early.url) return null;
  const { response, since } = early;
  early = null;
  return performance.now() - since < FRESH_MS ? response : null;
}
