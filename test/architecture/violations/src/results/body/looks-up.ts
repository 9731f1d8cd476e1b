import { here } from '../records/here.js';

export const there = here;
