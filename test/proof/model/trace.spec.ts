import { TraceChecker, type Observation } from './trace';

const begin = (sequence: number): Observation => ({ what: 'begin', sequence });
const answer = (sequence: number, status: 200 | 500): Observation => ({ what: 'answer', sequence, status });
const kill: Observation = { what: 'kill' };
const failed = (times: number): Observation[] => Array.from({ length: times }, () => [begin(1), answer(1, 500)]).flat();

describe("the trace of a booking's attempts", () => {
  const checker = new TraceChecker(2);

  it.each<[string, Observation[]]>([
    ['each event follows the previous event', [begin(1), answer(1, 200), begin(2), answer(2, 200)]],
    ['a 500 is retried, and the next waits', [begin(1), answer(1, 500), begin(1), answer(1, 200), begin(2)]],
    ['a kill doubles an event', [begin(1), answer(1, 200), kill, begin(1), answer(1, 200), begin(2)]],
    ['a kill leaves an attempt at the partner', [begin(1), kill, answer(1, 200), begin(1), answer(1, 200), begin(2)]],
  ])('the delivery model accepts the trace of a booking’s attempts: %s', (_name, trace) => {
    expect(checker.firstUnexplained(trace)).toBeNull();
  });

  it.each<[string, Observation[], number]>([
    ['the second event is sent first', [begin(2)], 0],
    ['the second overtakes a 500', [begin(1), answer(1, 500), begin(2)], 2],
    ['the second event overtakes a running attempt', [begin(1), begin(2)], 1],
    ['two attempts of one event run at once', [begin(1), begin(1)], 1],
    ['an event is doubled without a kill', [begin(1), answer(1, 200), begin(1)], 2],
    ['a kill does not excuse overtaking', [begin(1), kill, answer(1, 500), begin(2)], 3],
    ['a kill does not excuse two events at once', [kill, begin(1), answer(1, 500), begin(2)], 3],
  ])('the delivery model rejects the trace of a booking’s attempts: %s', (_name, trace, at) => {
    expect(checker.firstUnexplained(trace)).toBe(at);
  });

  it('the delivery model lets an event overtake an earlier event only if the earlier event failed four times and was left to an operator', () => {
    const blaming = new TraceChecker(2, true);
    const [three, four] = [3, 4].map((times) => [...failed(times), begin(2)]);
    expect([blaming.firstUnexplained(four), checker.firstUnexplained(four)]).toEqual([null, 8]);
    expect(blaming.firstUnexplained(three)).toBe(6);
  });
});
