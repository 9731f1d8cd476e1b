import { useCallback, useState, type ComponentType } from 'react';
import { toast } from './toast';

type Load<Props> = () => Promise<ComponentType<Props>>;

const parts: (() => Promise<unknown>)[] = [];

/** A part of the program that is loaded when it is first needed, or with the rest once the first page is there. */
export function later<Props>(load: Load<Props>): Load<Props> {
  parts.push(load);
  return load;
}

/** Those that are known by now, one after another. */
export async function loadParts(): Promise<void> {
  for (const load of parts) await load().catch(() => undefined);
}

/** The part once it was opened. Not by `lazy`: React lets a third of a second pass before it shows what was awaited. */
export function useLater<Props>(load: Load<Props>) {
  const [Part, setPart] = useState<ComponentType<Props> | null>(null);
  const open = useCallback(() => void load().then((found) => setPart(() => found), tellMissing), [load]);
  return { Part, open, close: () => setPart(null) };
}

export function tellMissing(error: Error): void {
  toast(`This data could not be loaded: ${error.message}`, 'bad');
}
