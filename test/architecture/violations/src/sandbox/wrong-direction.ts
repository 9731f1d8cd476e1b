export { event } from '../notifications/notifications.events.js';
