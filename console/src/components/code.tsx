/**
 * The number of characters up to which a code is never broken into two lines. Longer strings are keys and addresses.
 */
const LONGEST_CODE = 40;

/** Shows a code or an id in a monospaced font, on one line. */
export function Code({ children }: { children: string }) {
  return <code className={children.length > LONGEST_CODE ? 'long' : undefined}>{children}</code>;
}
