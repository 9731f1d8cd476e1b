import { firstUnexplained, type Operation } from './records-trace';

const configuration = { name: 'trace', changes: 'aU aU', subscriptions: ['0 U', 'U 0'], translators: 2 };

/** Builds a run from operations, each of which ends before the next starts. */
function oneByOne(...operations: object[]): Operation[] {
  return operations.map((one, index) => ({ ...one, start: 2 * index, end: 2 * index + 1 }) as Operation);
}
const lock = (n: number) => ({ what: 'lock', n });
const write = (n: number, ...numbers: number[]) => ({ what: 'write', n, numbers });
const commit = (n: number) => ({ what: 'commit', n });
const rollBack = (n: number) => ({ what: 'roll back', n });
const change = (n: number) => ({ what: 'change the subscription', n });
const find = (n: number, upTo: number, ...found: number[]) => ({ what: 'find', n, upTo, found });
const translate = (n: number, events: number, ...made: [number, number][]) => ({ what: 'translate', n, events, made });
const commitTranslation = (n: number) => ({ what: 'commit the translation', n });
const rollBackTranslation = (n: number) => ({ what: 'roll back the translation', n });

describe('the trace of writers, subscriptions and translators', () => {
  const told = [lock(0), write(0, 1), commit(0)];
  const twice = [...told, lock(1), write(1, 2), commit(1)];

  it.each<[string, object[]]>([
    [
      'an event is translated for its listener',
      [...told, find(0, 0, 0), translate(0, 1, [0, 1]), commitTranslation(0)],
    ],
    ['a change without a listener has no event', [change(1), lock(0), write(0, 0), commit(0)]],
    ['a rollback frees the number', [lock(0), write(0, 1), rollBack(0), lock(1), write(1, 1), commit(1)]],
    [
      'a subscription that was added meanwhile gets the event',
      [...told, change(0), find(0, 0, 0), translate(0, 1, [0, 0], [0, 1])],
    ],
    [
      'a later event waits for a locked one',
      [...twice, find(0, 0, 0), translate(0, 1, [0, 1]), find(1, 1, 0, 1), translate(1, 0), commitTranslation(1)],
    ],
    [
      'a translation is repeated after its rollback',
      [...told, find(0, 0, 0), translate(0, 1, [0, 1]), rollBackTranslation(0), find(1, 0, 0), translate(1, 1, [0, 1])],
    ],
  ])('the model of record events accepts the trace: %s', (_name, operations) => {
    expect(firstUnexplained(configuration, oneByOne(...operations))).toBeNull();
  });

  it.each<[string, object[], number]>([
    ['a change raises no event for its listener', [lock(0), write(0, 0)], 1],
    ['a change without a listener has an event', [change(1), lock(0), write(0, 1)], 2],
    ['two writers have locked one record', [lock(0), lock(1)], 1],
    ['a number is used twice', [...told, lock(1), write(1, 1)], 4],
    ['a number is missing', [lock(0), write(0, 1), rollBack(0), lock(1), write(1, 2)], 4],
    ['an event is found before its commit', [lock(0), write(0, 1), find(0, 0, 0)], 2],
    ['a subscription gets what it does not select', [...told, find(0, 0, 0), translate(0, 1, [0, 0], [0, 1])], 4],
    ['a deleted subscription gets an event', [...told, find(0, 0, 0), change(1), translate(0, 1, [0, 1])], 5],
    ['a listener misses an event', [...told, find(0, 0, 0), translate(0, 1)], 4],
    [
      'two translators have one event',
      [...told, find(0, 0, 0), find(1, 0, 0), translate(0, 1, [0, 1]), translate(1, 1, [0, 1])],
      6,
    ],
    [
      'a later event passes a locked one',
      [...twice, find(0, 0, 0), translate(0, 1, [0, 1]), find(1, 1, 0, 1), translate(1, 1, [1, 1])],
      9,
    ],
  ])('the model of record events rejects the trace: %s', (_name, operations, at) => {
    const run = oneByOne(...operations);
    expect(firstUnexplained(configuration, run)).toBe(run[at]);
  });
});
