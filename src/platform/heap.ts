import { setFlagsFromString } from 'node:v8';

/**
 * The percentage by which the heap may grow beyond its live data before V8 collects garbage. V8's own limit is 300. Under
 * load, 60 saves a quarter of the resident memory, and costs a few milliseconds every few seconds.
 */
const USUAL_PERCENT = 60;
/**
 * The percentage while large bodies arrive. V8 counts the bytes of bodies as a part of the heap. With
 * {@link USUAL_PERCENT}, it would collect garbage after each large body, which slows down the requests of other callers
 * for about 80 ms.
 */
const LARGE_BODY_PERCENT = 150;
const LARGE_BODY_MS = 5 * 60_000;

let largeBodies: NodeJS.Timeout | undefined;

/** Lets the heap grow more than usual for the next five minutes, because a large body has been received. */
export function expectLargeBodies(): void {
  if (largeBodies) {
    largeBodies.refresh();
    return;
  }
  letGrow(LARGE_BODY_PERCENT);
  largeBodies = setTimeout(() => {
    largeBodies = undefined;
    letGrow(USUAL_PERCENT);
  }, LARGE_BODY_MS).unref();
}

function letGrow(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

// main.ts loads this module first, because V8 needs the setting before other modules are loaded.
letGrow(USUAL_PERCENT);
