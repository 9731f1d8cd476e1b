import { PartnerQueue } from './partner-queue';
import { fill, startAll } from '../../../test/support/proven-queues';
import { PartnerQueues } from './partner-queues';

/** The queues of partners that have already handled the maximum number of concurrent attempts. */
class ProvenQueues extends PartnerQueues<number> {
  private readonly proven = new Set<string>();

  override of(id: string): PartnerQueue<number> {
    const queue = super.of(id);
    if (!this.proven.has(id)) for (let i = 0; i < 200; i++) queue.succeeded();
    this.proven.add(id);
    return queue;
  }
}

/** Makes the partners count as answering, by recording one answered attempt for each of them. */
function answering(queues: PartnerQueues<number>, ...ids: string[]): void {
  for (const id of ids) queues.ended(queues.of(id), queues.started(queues.of(id), 0), true, 1);
}

test('a partner has no more concurrent attempts than the limit per partner allows', () => {
  const queues = new ProvenQueues(64, 16);
  fill(queues, 'a', 100);
  expect(startAll(queues)).toHaveLength(16);
});

test('a worker starts attempts for its partners in turn', () => {
  const queues = new ProvenQueues(64, 16);
  answering(queues, 'a', 'b');
  fill(queues, 'a', 3);
  fill(queues, 'b', 3);
  expect(startAll(queues)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

test('a share of the worker’s attempt slots is reserved for partners that have few attempts running', () => {
  const queues = new ProvenQueues(64, 16);
  answering(queues, 'a', 'b', 'c', 'd', 'e', 'f');
  for (const id of ['a', 'b', 'c', 'd', 'e']) fill(queues, id, 100);
  expect(startAll(queues)).toHaveLength(48);
  fill(queues, 'f', 100);
  expect(startAll(queues)).toEqual(['f', 'f']);
});

describe('partners that hang', () => {
  const hanging = Array.from({ length: 1000 }, (_, number) => `hanging ${number}`);

  test('however many partners hang, a responsive partner gets a slot at once, and a new partner gets one after a second', () => {
    const queues = new ProvenQueues(64, 16);
    answering(queues, 'known');
    for (const id of hanging) fill(queues, id, 3);
    expect(startAll(queues)).toHaveLength(32);
    fill(queues, 'known', 1);
    expect(startAll(queues)).toEqual(['known']);
    fill(queues, 'new', 1);
    expect(startAll(queues)).toEqual([]);
    queues.check(1001);
    expect(startAll(queues)[0]).toBe('new');
  });

  test('when many partners stop answering at the same moment, they delay a healthy partner only until they are known to hang', () => {
    const queues = new ProvenQueues(64, 16);
    answering(queues, ...hanging, 'healthy');
    for (const id of hanging.slice(0, 200)) fill(queues, id, 1);
    expect(startAll(queues)).toHaveLength(64);
    fill(queues, 'healthy', 1);
    expect(startAll(queues)).toEqual([]);
    for (const ms of [1001, 2002, 3003]) {
      queues.check(ms);
      const began = queues.inFlight;
      for (let queue = queues.next(); queue !== null; queue = queues.next()) {
        queue.take();
        queues.started(queue, ms);
      }
      expect(queues.inFlight - began).toBe(ms === 3003 ? 9 : 64);
    }
    expect(queues.of('healthy').inFlight).toBe(1);
  });

  test('partners that are known to hang take turns using at most a quarter of the slots', () => {
    const queues = new ProvenQueues(64, 16);
    const few = hanging.slice(0, 70);
    for (const id of few) {
      const queue = queues.of(id);
      queues.ended(queue, queues.started(queue, 0), false, 10_000);
      queue.overloaded();
      fill(queues, id, 3);
    }
    const first = startAll(queues);
    expect(first).toEqual(few.slice(0, 16));
    answering(queues, 'healthy');
    fill(queues, 'healthy', 100);
    expect(startAll(queues)).toHaveLength(16);
    expect(queues.inFlight).toBe(32);
  });

  test('a hanging partner that answers again gets slots like any other partner', () => {
    const queues = new ProvenQueues(64, 16);
    const queue = queues.of('a');
    const attempt = queues.started(queue, 0);
    queues.check(5000);
    expect(queue.trust).toBe('HANGS');
    queues.ended(queue, attempt, true, 6000);
    expect(queue.trust).toBe('ANSWERS');
    // A typical response time of six seconds keeps the slow partner from counting as hanging.
    queues.started(queue, 6000);
    queues.check(12_000);
    expect(queue.trust).toBe('ANSWERS');
  });
});

test('a worker without a free slot examines no queue, however many partners wait', () => {
  const queues = new ProvenQueues(64, 16);
  const ids = Array.from({ length: 1000 }, (_, number) => `partner ${number}`);
  answering(queues, ...ids);
  for (const id of ids) fill(queues, id, 3);
  expect(startAll(queues)).toHaveLength(64);
  const looks = jest.spyOn(PartnerQueue.prototype, 'waiting', 'get');
  expect(queues.next()).toBeNull();
  expect(looks).not.toHaveBeenCalled();
  looks.mockRestore();
});

test('a worker with a single partner uses all of its slots for this partner', () => {
  const queues = new ProvenQueues(64, 64);
  answering(queues, 'a');
  fill(queues, 'a', 100);
  expect(startAll(queues)).toHaveLength(64);
});

test('a partner that answers too slowly gets fewer simultaneous attempts, down to one, and gets more again when it answers faster', () => {
  const queues = new ProvenQueues(64, 16);
  const queue = queues.of('a');
  for (let i = 0; i < 10; i++) queue.overloaded();
  expect(queue.limit).toBe(1);
  for (let i = 0; i < 100; i++) queue.succeeded();
  expect(queue.limit).toBe(16);
});

test('a partner that has just recovered from DOWN starts with one simultaneous attempt, unlike a partner that was always UP', () => {
  const queues = new ProvenQueues(64, 16);
  const [fresh, back, known] = [queues.of('fresh'), queues.of('back'), queues.of('known')];
  fresh.partnerChangedAt(null, 100_000);
  back.partnerChangedAt(99_000, 100_000);
  known.partnerChangedAt(1_000, 100_000);
  expect([fresh.limit, back.limit, known.limit]).toEqual([16, 1, 16]);
  known.partnerChangedAt(100_000, 100_000);
  expect(known.limit).toBe(1);
});

test('a partner that was never tried starts with one simultaneous attempt, and gets more as attempts succeed', () => {
  const queue = new PartnerQueues<number>(64, 16).of('a');
  const limits = Array.from({ length: 5 }, () => {
    const { limit } = queue;
    queue.succeeded();
    return Math.floor(limit);
  });
  expect(limits).toEqual([1, 1, 2, 2, 3]);
  for (let i = 0; i < 30; i++) queue.succeeded();
  expect(queue.limit).toBe(16);
});

test('if a new partner leaves its first attempt unanswered for a second, it gets as many simultaneous attempts as other partners', () => {
  const queues = new PartnerQueues<number>(64, 16);
  const [fresh, back] = [queues.of('fresh'), queues.of('back')];
  back.partnerChangedAt(100_000, 100_000);
  for (const queue of [fresh, back]) queues.started(queue, 0);
  queues.check(500);
  expect([fresh.limit, back.limit]).toEqual([1, 1]);
  queues.check(1_500);
  expect([fresh.limit, back.limit]).toEqual([16, 1]);
});

test('a partner’s queue is refilled when half empty, and claims more notifications at a time while more are due', () => {
  const queue = new ProvenQueues(64, 16).of('a');
  expect(queue.capacity).toBe(32);
  queue.claiming();
  queue.fill(Array.from({ length: 32 }, Number), 32, false);
  expect(queue.batch).toBe(64);
  expect(queue.capacity).toBe(32);
  queue.claiming();
  queue.fill([1], 32, false);
  expect(queue.capacity).toBe(0);
});

describe('a partner whose new notifications are claimed at their creation', () => {
  const asked = (queue: ReturnType<PartnerQueues<number>['of']>) => {
    queue.claiming();
    queue.fill([], 1, false);
    return queue;
  };

  test('new notifications may be claimed at creation if no older ones are due and an attempt can start for each', () => {
    const queue = asked(new ProvenQueues(64, 16).of('a'));
    expect(queue.isReadyFor(16)).toBe(true);
    expect(queue.isReadyFor(17)).toBe(false);
  });

  test('notifications may not be claimed at creation while older ones may be due, or while the partner’s queue is halted', () => {
    const queues = new ProvenQueues(64, 16);
    expect(queues.of('unknown').isReadyFor(1)).toBe(false);
    const halted = asked(queues.of('halted'));
    halted.halt();
    expect(halted.isReadyFor(1)).toBe(false);
    const behind = asked(queues.of('behind'));
    behind.fill([1], 2, false);
    expect(behind.isReadyFor(1)).toBe(false);
  });

  test('if only one more attempt may start, one new notification can be claimed at its creation, but not two', () => {
    const queues = new ProvenQueues(64, 2);
    const queue = asked(queues.of('a'));
    queues.started(queue, 0);
    expect([queue.isReadyFor(1), queue.isReadyFor(2)]).toEqual([true, false]);
  });
});

describe('the state of a queue', () => {
  const queueOf = () => new ProvenQueues(64, 16).of('a');

  test('a wake-up that reaches a partner’s queue during a claim is not lost', () => {
    const queue = queueOf();
    queue.claiming();
    queue.wake();
    queue.fill([], 32, false);
    expect(queue.mode).toBe('ASKING');
  });

  test('if a claim found nothing while attempts were running, a partner’s queue claims again after their outcomes are recorded', () => {
    const queue = queueOf();
    queue.claiming();
    queue.fill([], 32, true);
    expect(queue.mode).toBe('STALLED');
    queue.retryClaim();
    expect(queue.mode).toBe('ASKING');
  });

  test('a partner’s queue that is halted to record an outcome claims no notification until it is resumed', () => {
    const queue = queueOf();
    queue.halt();
    queue.wake();
    queue.retryClaim();
    expect([queue.mode, queue.capacity]).toEqual(['HALTED', 0]);
    queue.resume();
    expect(queue.mode).toBe('ASKING');
  });

  test('an invalid state change in a partner’s queue throws an error', () => {
    const queue = queueOf();
    queue.claiming();
    queue.fill([], 1, false);
    expect(() => queue.claiming()).toThrow('A queue that is IDLE cannot be CLAIMING.');
  });
});
