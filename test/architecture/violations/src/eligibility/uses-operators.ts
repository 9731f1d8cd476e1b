export { here } from './operators/here.js';
