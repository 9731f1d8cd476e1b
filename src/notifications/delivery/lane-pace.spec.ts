import type { Lane } from './delivery-lane';
import { fill, startAll } from '../../../test/support/lanes';
import { Lanes } from './delivery-lanes';

describe('a partner with a limited rate', () => {
  const paced = () => {
    const closed: string[] = [];
    const lanes = new Lanes<number>(64, 16, (lane: Lane<number>) => void closed.push(lane.id));
    return { lanes, closed, lane: lanes.of('a') };
  };

  test('sends nothing before the permitted times, and nothing after the last of them', () => {
    const { pace } = paced().lane;
    pace.allow(1000, 3, 10);
    expect([999, 1000].map((now) => pace.isOpen(now))).toEqual([false, true]);
    pace.use();
    expect([1050, 1100].map((now) => pace.isOpen(now))).toEqual([false, true]);
    expect(pace.isOpen(1_000_000)).toBe(false);
    expect(pace.opensAt(1_000_000)).toBeNull();
  });

  test('sends nothing before the end of a pause, whatever was permitted before', () => {
    const { pace } = paced().lane;
    pace.allow(1000, 3, 10);
    pace.close(5000);
    pace.close(3000);
    expect([pace.isOpen(4999), pace.opensAt(1000), pace.opensAt(5000)]).toEqual([false, 5000, null]);
  });

  test('leaves a partner out of the fair order until its next permitted time', () => {
    const { lanes, closed, lane } = paced();
    lane.pace.bound(5);
    fill(lanes, 'a', 3);
    fill(lanes, 'b', 1);
    expect(startAll(lanes)).toEqual(['b']);
    expect(closed).toEqual(['a']);
    lane.pace.allow(performance.now() - 1, 2, 1000);
    lanes.enqueue(lane);
    expect(startAll(lanes)).toEqual(['a']);
  });

  test('queues as many notifications as may be sent in some seconds', () => {
    const { lane } = paced();
    lane.pace.bound(2);
    expect(lane.room).toBe(8);
    expect(lane.isReadyFor(1)).toBe(false);
  });

  test('counts the successful answers of the last second', () => {
    const { pace } = paced().lane;
    for (const at of [100, 950, 1050, 1099]) pace.answeredWell(at);
    expect([1099, 1100, 1999, 5000].map((now) => pace.goodAnswers(now))).toEqual([4, 3, 2, 0]);
  });
});
