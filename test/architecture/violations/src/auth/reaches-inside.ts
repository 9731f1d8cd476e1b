export { handler } from '../accounts/accounts.handlers.js';
