export { tables } from '../schema.js';
