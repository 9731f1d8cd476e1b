/** The maximum number of characters of a code that always stays on one line. Longer strings are keys and addresses. */
const LONGEST_CODE = 40;

/** Shows a code or an id in a monospaced font. A short code stays on one line. */
export function Code({ children }: { children: string }) {
  return <code className={children.length > LONGEST_CODE ? 'long' : undefined}>{children}</code>;
}
