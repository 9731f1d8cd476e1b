import type { PartnerQueue } from './partner-queue';
import { fill, startAll } from '../../../test/support/proven-queues';
import { PartnerQueues } from './partner-queues';

describe('a partner with a limited rate', () => {
  const paced = () => {
    const closed: string[] = [];
    const queues = new PartnerQueues<number>(64, 16, (queue: PartnerQueue<number>) => void closed.push(queue.id));
    return { queues, closed, queue: queues.of('a') };
  };

  test('a request to a partner with a limited rate waits for a reserved send time, or for a new reservation if none is left', () => {
    const { pace } = paced().queue;
    pace.allow(1000, 3, 10);
    expect([999, 1000].map((now) => pace.isOpen(now))).toEqual([false, true]);
    pace.use(1000);
    expect([1050, 1100].map((now) => pace.isOpen(now))).toEqual([false, true]);
    expect(pace.isOpen(1_000_000)).toBe(false);
    expect(pace.opensAt(1_000_000)).toBeNull();
  });

  test('a request that is sent late postpones all later send times, including those that are reserved next', () => {
    const { pace } = paced().queue;
    pace.allow(1000, 3, 10);
    pace.use(1020);
    expect([pace.opensAt(1020), pace.takeLate()]).toEqual([1100, 0]);
    pace.use(1170);
    expect([pace.opensAt(1170), pace.takeLate(), pace.takeLate()]).toEqual([1250, 50, 0]);
  });

  test('at a low rate, the next send time is postponed if a request waits longer for its connection than the previous one did', () => {
    const { pace } = paced().queue;
    pace.allow(1000, 2, 1);
    pace.use(1000);
    pace.sends(1100);
    expect([pace.opensAt(1100), pace.takeLate()]).toEqual([2080, 80]);
    pace.use(2080);
    pace.sends(2180);
    expect(pace.takeLate()).toBe(0);
    pace.allow(3000, 2, 10);
    pace.use(3000);
    pace.sends(3100);
    expect([pace.opensAt(3100), pace.takeLate()]).toEqual([3100, 0]);
  });

  test('a busy partner gets no request before its pause ends, even if an earlier send time was reserved', () => {
    const { pace } = paced().queue;
    pace.allow(1000, 3, 10);
    pace.close(5000);
    pace.close(3000);
    expect([pace.isOpen(4999), pace.opensAt(1000), pace.opensAt(5000)]).toEqual([false, 5000, null]);
  });

  test('the queue of a partner with a limited rate starts no attempt before the next reserved send time', () => {
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

  test('the queue of a partner with a limited rate holds only as many notifications as may be sent within a few seconds', () => {
    const { queue } = paced();
    queue.pace.bound(2);
    expect(queue.capacity).toBe(8);
    expect(queue.isReadyFor(1)).toBe(false);
  });

  test('counts the successful responses of a partner in the last second', () => {
    const { pace } = paced().queue;
    for (const at of [100, 950, 1050, 1099]) pace.answeredWell(at);
    expect([1099, 1100, 1999, 5000].map((now) => pace.goodAnswers(now))).toEqual([4, 3, 2, 0]);
  });
});
