export { event } from '../results/results.events.js';
