import { here } from '../delivery/here.js';

export const there = here;
