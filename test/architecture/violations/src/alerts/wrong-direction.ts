export { event } from '../bookings/bookings.events.js';
