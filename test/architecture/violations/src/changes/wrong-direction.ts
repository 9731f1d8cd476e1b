export { command } from '../accounts/accounts.commands.js';
