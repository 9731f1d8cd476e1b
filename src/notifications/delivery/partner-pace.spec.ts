import type { PartnerQueue } from './partner-queue';
import { fill, startAll } from '../../../test/support/proven-queues';
import { PartnerQueues } from './partner-queues';

describe('a partner with a limited rate', () => {
  const paced = () => {
    const closed: string[] = [];
    const queues = new PartnerQueues<number>(64, 16, (queue: PartnerQueue<number>) => void closed.push(queue.id));
    return { queues, closed, queue: queues.of('a') };
  };

  test('no request is sent before its permitted time, and none after the last permitted time', () => {
    const { pace } = paced().queue;
    pace.allow(1000, 3, 10);
    expect([999, 1000].map((now) => pace.isOpen(now))).toEqual([false, true]);
    pace.use();
    expect([1050, 1100].map((now) => pace.isOpen(now))).toEqual([false, true]);
    expect(pace.isOpen(1_000_000)).toBe(false);
    expect(pace.opensAt(1_000_000)).toBeNull();
  });

  test('no request is sent before the end of a pause, even if a time was permitted earlier', () => {
    const { pace } = paced().queue;
    pace.allow(1000, 3, 10);
    pace.close(5000);
    pace.close(3000);
    expect([pace.isOpen(4999), pace.opensAt(1000), pace.opensAt(5000)]).toEqual([false, 5000, null]);
  });

  test('a partner gets no turn before its next permitted time', () => {
    const { queues, closed, queue } = paced();
    queue.pace.bound(5);
    fill(queues, 'a', 3);
    fill(queues, 'b', 1);
    expect(startAll(queues)).toEqual(['b']);
    expect(closed).toEqual(['a']);
    queue.pace.allow(performance.now() - 1, 2, 1000);
    queues.enqueue(queue);
    expect(startAll(queues)).toEqual(['a']);
  });

  test('the queue of a partner holds only as many notifications as may be sent within a few seconds', () => {
    const { queue } = paced();
    queue.pace.bound(2);
    expect(queue.capacity).toBe(8);
    expect(queue.isReadyFor(1)).toBe(false);
  });

  test('counts the successful answers of the last second', () => {
    const { pace } = paced().queue;
    for (const at of [100, 950, 1050, 1099]) pace.answeredWell(at);
    expect([1099, 1100, 1999, 5000].map((now) => pace.goodAnswers(now))).toEqual([4, 3, 2, 0]);
  });
});
