import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 collect garbage when the heap has grown to 1.6 times its live data, instead of four times. Under load, this
 * setting saves a quarter of the resident memory, and costs a few milliseconds every few seconds. The setting has a
 * module of its own, because V8 needs it before other modules are loaded.
 */
setFlagsFromString('--heap-growing-percent=60');
