export { here } from '../validation/here.js';
