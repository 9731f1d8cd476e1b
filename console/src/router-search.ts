/** Filters are part of the address as they are sent: plain names and texts, so that a link can be read and written by hand. */
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

/** `validateSearch: only('state', 'kind')`: what a page reads of its address. */
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
