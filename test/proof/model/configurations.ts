import { subjects, type Configuration } from './delivery.model.js';

/**
 * The small configurations of the delivery model. Each run of the unit tests visits all states of these configurations.
 */
export const SMALL: readonly Configuration[] = [
  { name: 'outage', subjects: subjects('AX1 AY1'), workers: 1, world: { outages: true } },
  { name: 'outage of two bookings', subjects: subjects('AX1 AX2 AY1'), workers: 1, world: { outages: true } },
  { name: 'crashes', subjects: subjects('AX1 AX2'), workers: 2, world: { kills: true, outages: true } },
  {
    name: 'operators in an outage',
    subjects: subjects('AX1 AX2'),
    workers: 1,
    world: { outages: true, refusals: true, resends: true, resolves: true, kills: true },
  },
  {
    name: 'giving up',
    subjects: subjects('AX1 AX2'),
    workers: 1,
    world: { outages: true, suspends: 1, givesUp: true },
  },
  {
    name: 'job in an outage',
    subjects: subjects('AX1 AY1'),
    workers: 1,
    world: { outages: true, refusals: true, jobs: true },
  },
  { name: 'busy', subjects: subjects('AX1 AX2 AY1'), workers: 1, world: { busies: true } },
  { name: 'busy in an outage', subjects: subjects('AX1 AY1'), workers: 1, world: { busies: true, outages: true } },
  { name: 'busy job', subjects: subjects('AX1 AY1'), workers: 1, world: { busies: true, refusals: true, jobs: true } },
  {
    name: 'giving up a busy partner',
    subjects: subjects('AX1 AY1'),
    workers: 1,
    world: { busies: true, suspends: 1, givesUp: true },
  },
  { name: 'always busy', subjects: subjects('AX1 AX2'), workers: 1, world: { alwaysBusy: true, givesUp: true } },
  {
    name: 'one bad event',
    subjects: subjects('AX1 AY1 AZ1'),
    workers: 1,
    world: { oneBadEvent: true, blames: true },
  },
  { name: 'replay', subjects: subjects('AX1 AX2 AX3'), workers: 1, world: { replays: true, refusals: true } },
  {
    name: 'polls',
    subjects: subjects('AX1 AX2'),
    workers: 1,
    callers: 2,
    world: { polls: true, refusals: true },
  },
  {
    name: 'changes of the way',
    subjects: subjects('AX1 AX2'),
    workers: 1,
    callers: 1,
    world: { turns: true, outages: true },
  },
  {
    name: 'operators and polls',
    subjects: subjects('AX1 AX2'),
    workers: 1,
    callers: 1,
    world: { polls: true, refusals: true, resends: true, resolves: true, suspends: 1 },
  },
  {
    name: 'changes of the way and crashes',
    subjects: subjects('AX1 AX2'),
    workers: 1,
    callers: 1,
    world: { turns: true, outages: true, kills: true, suspends: 1 },
  },
];

/**
 * The large configurations of the delivery model. `npm run model` visits all states of the large and the small
 * configurations, which together cover every part of the protocol.
 */
export const LARGE: readonly Configuration[] = [
  { name: 'outage and refusals', subjects: subjects('AX1 AX2'), workers: 2, world: { outages: true, refusals: true } },
  {
    name: 'operators',
    subjects: subjects('AX1 AX2'),
    workers: 2,
    world: { refusals: true, resends: true, resolves: true },
  },
  {
    name: 'suspension',
    subjects: subjects('AX1 AX2'),
    workers: 2,
    world: { outages: true, suspends: 1, kills: true },
  },
  {
    name: 'job',
    subjects: subjects('AX1 BY1'),
    workers: 1,
    world: { refusals: true, suspends: 1, jobs: true },
  },
  { name: 'two partners', subjects: subjects('AX1 BX1'), workers: 2, world: { kills: true, outages: true } },
  {
    name: 'job and crashes',
    subjects: subjects('AX1 BY1'),
    workers: 1,
    world: { refusals: true, suspends: 1, kills: true, jobs: true },
  },
  { name: 'job of a booking', subjects: subjects('AX1 AX2'), workers: 2, world: { refusals: true, jobs: true } },
  {
    name: 'outage of two bookings and two workers',
    subjects: subjects('AX1 AX2 AY1'),
    workers: 2,
    world: { outages: true },
  },
];

/**
 * Returns the configuration of the delivery model with the given name.
 * @throws Error when there is no configuration of this name
 */
export function configurationOf(name: string): Configuration {
  const found = [...SMALL, ...LARGE].find((configuration) => configuration.name === name);
  if (found === undefined) throw new Error(`There is no configuration ${name}.`);
  return found;
}
