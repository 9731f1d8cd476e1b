import type { FeedConfiguration } from './feed-step.js';

/**
 * The configurations of the change feed's model. The tests and `npm run model` visit all states of each configuration.
 */
export const FEED_CONFIGURATIONS: readonly FeedConfiguration[] = [
  { name: 'writers', changes: 'aE aE bE', limit: 1 },
  { name: 'pages of two', changes: 'aE bE aE', limit: 2 },
  { name: 'kinds', changes: 'aE bR aE', limit: 1, kind: 'E' },
  { name: 'crash', changes: 'aE bE aE', limit: 1, crashes: 1 },
  { name: 'failover', changes: 'aE bE aE', limit: 1, failovers: 1 },
  { name: 'restore', changes: 'aE bE', limit: 1, restores: true },
  { name: 'months', changes: 'aE bE', limit: 1, ticks: 5 },
  { name: 'clock ahead', changes: 'aE bE', limit: 1, ticks: 3, ahead: 6 },
];

/**
 * Returns the configuration of the change feed model with the given name.
 * @throws Error when there is no configuration of this name
 */
export function feedConfigurationOf(name: string): FeedConfiguration {
  const found = FEED_CONFIGURATIONS.find((configuration) => configuration.name === name);
  if (found === undefined) throw new Error(`There is no configuration ${name}.`);
  return found;
}
