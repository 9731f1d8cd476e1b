export { here } from '../unit-of-work/here.js';
