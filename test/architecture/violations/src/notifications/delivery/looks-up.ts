export { here } from '../error-queue/here.js';
