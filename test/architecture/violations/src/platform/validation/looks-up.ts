export { here } from '../http/here.js';
