import type { RecordsConfiguration } from './records-step.js';

/**
 * The configurations of the model of records' events. The tests and `npm run model` visit all states of each
 * configuration.
 */
export const RECORDS_CONFIGURATIONS: readonly RecordsConfiguration[] = [
  { name: 'writers', changes: 'aU aU bU', subscriptions: ['0 U 0'], translators: 1 },
  { name: 'listeners', changes: 'aU aH', subscriptions: ['0 U UH', 'H U 0'], translators: 1 },
  { name: 'several changes', changes: 'aUH aHU', subscriptions: ['H', 'UH'], translators: 2 },
  { name: 'translations', changes: 'aU aU', subscriptions: ['U 0'], translators: 2 },
  { name: 'translations for two', changes: 'aU aH', subscriptions: ['0 U', 'UH 0'], translators: 2 },
  { name: 'erasure', changes: 'aU aX', subscriptions: ['UX'], translators: 2 },
  { name: 'erasure of two', changes: 'aU aU aX', subscriptions: ['UX'], translators: 2 },
  { name: 'change after erasure', changes: 'aU aX aU', subscriptions: ['UX 0'], translators: 1 },
  { name: 'earlier release', changes: 'aU au aU', subscriptions: ['0 U 0*'], translators: 1 },
];

/**
 * Returns the configuration of the model of records' events with the given name.
 * @throws Error when there is no configuration of this name
 */
export function recordsConfigurationOf(name: string): RecordsConfiguration {
  const found = RECORDS_CONFIGURATIONS.find((configuration) => configuration.name === name);
  if (found === undefined) throw new Error(`There is no configuration ${name}.`);
  return found;
}
