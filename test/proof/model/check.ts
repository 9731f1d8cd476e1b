/**
 * Visits every state of every configuration of the three modelled protocols: delivery, the change feed, and the events
 * of records.
 *
 * usage: npm run model [-- --mutations] (`--mutations` also shows which promise each mutation of a protocol breaks)
 */
import { parseArgs } from 'node:util';
import { configurationOf, LARGE, SMALL } from './configurations.js';
import { DeliveryModel } from './delivery.model.js';
import { FEED_CONFIGURATIONS, feedConfigurationOf } from './feed/feed-configurations.js';
import { FEED_MUTATIONS, type FeedMutation } from './feed/feed-mutations.js';
import { FeedModel } from './feed/feed.model.js';
import { MUTATIONS, type Mutation } from './mutations.js';
import { RECORDS_CONFIGURATIONS, recordsConfigurationOf } from './records/records-configurations.js';
import { RECORDS_MUTATIONS, type RecordsMutation } from './records/records-mutations.js';
import { RecordsModel } from './records/records.model.js';
import { search, type Protocol } from './state-search.js';

const WHOLE: readonly (readonly [string, Protocol])[] = [
  ...[...SMALL, ...LARGE].map((one) => [one.name, new DeliveryModel(one)] as const),
  ...FEED_CONFIGURATIONS.map((one) => [`feed: ${one.name}`, new FeedModel(one)] as const),
  ...RECORDS_CONFIGURATIONS.map((one) => [`records: ${one.name}`, new RecordsModel(one)] as const),
];

const MUTATED: readonly (readonly [string, { because: string; shownBy: string }, Protocol])[] = [
  ...(Object.keys(MUTATIONS) as Mutation[]).map((mutation) => {
    const { shownBy } = MUTATIONS[mutation];
    return [mutation, MUTATIONS[mutation], new DeliveryModel(configurationOf(shownBy), mutation)] as const;
  }),
  ...(Object.keys(FEED_MUTATIONS) as FeedMutation[]).map((mutation) => {
    const { shownBy } = FEED_MUTATIONS[mutation];
    return [mutation, FEED_MUTATIONS[mutation], new FeedModel(feedConfigurationOf(shownBy), mutation)] as const;
  }),
  ...(Object.keys(RECORDS_MUTATIONS) as RecordsMutation[]).map((mutation) => {
    const { shownBy } = RECORDS_MUTATIONS[mutation];
    const protocol = new RecordsModel(recordsConfigurationOf(shownBy), mutation);
    return [mutation, RECORDS_MUTATIONS[mutation], protocol] as const;
  }),
];

function say(line: string): void {
  process.stdout.write(line + '\n');
}

function checkProtocols(): boolean {
  let [states, sound] = [0, true];
  const begun = performance.now();
  for (const [name, protocol] of WHOLE) {
    const started = performance.now();
    const verdict = search(protocol);
    states += verdict.states;
    sound &&= verdict.fault === null;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    say(`${name.padEnd(30)} ${String(verdict.states).padStart(9)} states ${seconds.padStart(6)} s`);
    if (verdict.fault !== null) say([verdict.fault, ...verdict.trace].join('\n    '));
  }
  say(`${states} states in ${((performance.now() - begun) / 1000).toFixed(1)} s: ${sound ? 'no fault' : 'FAULT'}`);
  return sound;
}

function checkMutations(): boolean {
  let all = true;
  for (const [mutation, { because, shownBy }, protocol] of MUTATED) {
    const { fault, states, trace } = search(protocol);
    all &&= fault !== null;
    say(`${mutation}: ${because}`);
    if (fault === null) say(`    NOT FOUND by ${shownBy}`);
    else say([`    ${fault} (${shownBy}, ${states} states)`, ...trace].join('\n        '));
  }
  return all;
}

const { values } = parseArgs({ options: { mutations: { type: 'boolean', default: false } } });
process.exitCode = (values.mutations ? checkMutations() : checkProtocols()) ? 0 : 1;
