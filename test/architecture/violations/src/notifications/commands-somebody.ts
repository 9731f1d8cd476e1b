export { command } from '../bookings/bookings.commands.js';
