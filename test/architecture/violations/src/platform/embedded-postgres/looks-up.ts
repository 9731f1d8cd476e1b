export { here } from '../observability/here.js';
