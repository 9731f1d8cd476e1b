export { here } from '../delivery/here.js';
