export { here } from '../events/here.js';
