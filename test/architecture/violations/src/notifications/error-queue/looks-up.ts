export { here } from '../partner-side/here.js';
