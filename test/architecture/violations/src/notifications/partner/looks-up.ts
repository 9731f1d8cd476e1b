export { here } from '../subscriptions/here.js';
