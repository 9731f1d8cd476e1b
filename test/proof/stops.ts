/** Ends a process that a proof has started, or removes a folder that it has created. */
export type Stop = () => Promise<unknown>;

/** Runs a proof, and then calls the functions that the proof has added to `stops`, the latest first. */
export async function withStops<T>(run: (stops: Stop[]) => Promise<T>): Promise<T> {
  const stops: Stop[] = [];
  try {
    return await run(stops);
  } finally {
    for (const stop of stops.reverse()) await stop().catch(() => undefined);
  }
}
