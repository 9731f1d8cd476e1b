/**
 * Parses an absolute URL, and returns null if the text is none. Is used in place of `URL.canParse`, which on Node 20 and
 * 22 refuses all URLs with letters from U+0080 to U+00FF, such as ü, as soon as V8 has compiled it after some thousand
 * calls.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
