import { setFlagsFromString } from 'node:v8';

/**
 * Lets the heap grow to 1.6 times what lives in it, instead of V8's four times, before all of it is collected: under
 * load the resident memory takes three quarters of what it would, for a few milliseconds of collection every few seconds.
 * A module of its own because V8 needs the setting before the others are loaded.
 */
setFlagsFromString('--heap-growing-percent=60');
