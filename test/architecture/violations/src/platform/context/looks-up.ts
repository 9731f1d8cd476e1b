export { here } from '../embedded-postgres/here.js';
