/**
 * Parses an absolute URL; returns null for any other text. `URL.canParse` is not used, because on Node 20 and 22 it
 * refuses all URLs with letters from U+0080 to U+00FF (such as ü) once V8 has compiled it, after a few thousand calls.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
