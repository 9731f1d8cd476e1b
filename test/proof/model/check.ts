/**
 * Visits every state of every configuration of the delivery protocol.
 *
 * usage: npm run model [-- --mutations]   (also shows which promise each mutation of the protocol breaks)
 */
import { parseArgs } from 'node:util';
import { configurationOf, LARGE, SMALL } from './configurations.js';
import { DeliveryModel } from './delivery.model.js';
import { MUTATIONS, type Mutation } from './mutations.js';
import { search } from './state-search.js';

function say(line: string): void {
  process.stdout.write(line + '\n');
}

function checkProtocol(): boolean {
  let [states, sound] = [0, true];
  const begun = performance.now();
  for (const configuration of [...SMALL, ...LARGE]) {
    const started = performance.now();
    const verdict = search(new DeliveryModel(configuration));
    states += verdict.states;
    sound &&= verdict.fault === null;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    say(`${configuration.name.padEnd(22)} ${String(verdict.states).padStart(9)} states ${seconds.padStart(6)} s`);
    if (verdict.fault !== null) say([verdict.fault, ...verdict.trace].join('\n    '));
  }
  say(`${states} states in ${((performance.now() - begun) / 1000).toFixed(1)} s: ${sound ? 'no fault' : 'FAULT'}`);
  return sound;
}

function checkMutations(): boolean {
  let all = true;
  for (const mutation of Object.keys(MUTATIONS) as Mutation[]) {
    const { because, shownBy } = MUTATIONS[mutation];
    const { fault, states, trace } = search(new DeliveryModel(configurationOf(shownBy), mutation));
    all &&= fault !== null;
    say(`${mutation}: ${because}`);
    if (fault === null) say(`    NOT FOUND by ${shownBy}`);
    else say([`    ${fault} (${shownBy}, ${states} states)`, ...trace].join('\n        '));
  }
  return all;
}

const { values } = parseArgs({ options: { mutations: { type: 'boolean', default: false } } });
process.exitCode = (values.mutations ? checkMutations() : checkProtocol()) ? 0 : 1;
