/** The filters in a page's address. They are plain text, so that people can read and write links. */
export type Search = Record<string, string | undefined>;

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (typeof value === 'string' && value !== '') parameters.set(name, value);
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/**
 * Returns a function that keeps only the query parameters that a page reads. For example, a route declares these
 * parameters with `validateSearch: only('state', 'kind')`.
 */
export function only<Name extends string>(
  ...names: Name[]
): (search: Record<string, unknown>) => { [N in Name]?: string } {
  return (search) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as { [N in Name]?: string };
}
