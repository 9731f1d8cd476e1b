/**
 * Parses an absolute URL, and returns null if the text is none. It replaces `URL.canParse`: on Node 20 and 22, that
 * function refuses all URLs with letters from U+0080 to U+00FF, such as ü, once V8 has compiled it after some thousand
 * calls.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
