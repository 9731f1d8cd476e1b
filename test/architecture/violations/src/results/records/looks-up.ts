import { here } from '../unmatched/here.js';

export const there = here;
