import type { B } from './circle-b.js';
export const a = (b: B) => b;
