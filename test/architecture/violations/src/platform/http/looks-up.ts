export { here } from '../audit/here.js';
