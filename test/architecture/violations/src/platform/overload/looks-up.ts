export { here } from '../database/here.js';
