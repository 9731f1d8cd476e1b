import { a } from './circle-a.js';
export type B = string;
export const b = () => a('b');
