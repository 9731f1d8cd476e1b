export { here } from '../overload/here.js';
