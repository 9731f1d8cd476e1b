export { here } from '../administration/here.js';
