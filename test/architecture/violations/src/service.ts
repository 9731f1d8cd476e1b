export { module } from './accounts/accounts.module.js';
