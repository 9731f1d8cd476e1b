export { here } from '../jobs/here.js';
