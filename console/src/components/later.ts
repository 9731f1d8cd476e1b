import { useCallback, useState, type ComponentType } from 'react';
import { toast } from './toast';

type Load<Props> = () => Promise<ComponentType<Props>>;

const parts: (() => Promise<unknown>)[] = [];

/**
 * Registers a part of the program that is loaded when it is first needed, or in the background after the first page has
 * been shown.
 */
export function later<Props>(load: Load<Props>): Load<Props> {
  parts.push(load);
  return load;
}

/** Loads all registered parts of the program, one after another. */
export async function loadParts(): Promise<void> {
  for (const load of parts) await load().catch(() => undefined);
}

/**
 * Returns the loaded part of the program, and functions that open and close this part. React's `lazy` would be slower,
 * because React delays suspended content by a third of a second.
 */
export function useLater<Props>(load: Load<Props>) {
  const [Part, setPart] = useState<ComponentType<Props> | null>(null);
  const open = useCallback(() => void load().then((found) => setPart(() => found), tellMissing), [load]);
  return { Part, open, close: () => setPart(null) };
}

export function tellMissing(error: Error): void {
  toast(`This part of the console could not be loaded: ${error.message}`, 'bad');
}
