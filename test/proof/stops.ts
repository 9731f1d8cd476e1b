/** Ends a process that a test program has started, or removes a folder that the program has created. */
export type Stop = () => Promise<unknown>;

/** Runs a test program, and then calls the functions that the program has added to `stops`, in reverse order. */
export async function withStops<T>(run: (stops: Stop[]) => Promise<T>): Promise<T> {
  const stops: Stop[] = [];
  try {
    return await run(stops);
  } finally {
    for (const stop of stops.reverse()) await stop().catch(() => undefined);
  }
}
