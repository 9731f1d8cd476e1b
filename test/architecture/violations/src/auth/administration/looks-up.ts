export { here } from '../sessions/here.js';
