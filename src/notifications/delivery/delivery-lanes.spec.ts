import { Lane } from './delivery-lane';
import { fill, startAll } from '../../../test/support/lanes';
import { Lanes } from './delivery-lanes';

/** Queues of partners that have shown to handle the maximum concurrency. */
class ProvenLanes extends Lanes<number> {
  private readonly proven = new Set<string>();

  override of(id: string): Lane<number> {
    const lane = super.of(id);
    if (!this.proven.has(id)) for (let i = 0; i < 200; i++) lane.succeeded();
    this.proven.add(id);
    return lane;
  }
}

/** Marks the partners as answering. */
function answering(lanes: Lanes<number>, ...ids: string[]): void {
  for (const id of ids) lanes.ended(lanes.of(id), lanes.started(lanes.of(id), 0), true, 1);
}

test('a partner has no more slots than its own', () => {
  const lanes = new ProvenLanes(64, 16);
  fill(lanes, 'a', 100);
  expect(startAll(lanes)).toHaveLength(16);
});

test('partners take turns', () => {
  const lanes = new ProvenLanes(64, 16);
  answering(lanes, 'a', 'b');
  fill(lanes, 'a', 3);
  fill(lanes, 'b', 3);
  expect(startAll(lanes)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

test('a part of the slots is kept for partners with hardly any attempt running', () => {
  const lanes = new ProvenLanes(64, 16);
  answering(lanes, 'a', 'b', 'c', 'd', 'e', 'f');
  for (const id of ['a', 'b', 'c', 'd', 'e']) fill(lanes, id, 100);
  expect(startAll(lanes)).toHaveLength(48);
  fill(lanes, 'f', 100);
  expect(startAll(lanes)).toEqual(['f', 'f']);
});

describe('however many partners hang', () => {
  const hanging = Array.from({ length: 1000 }, (_, number) => `hanging ${number}`);

  test('slots are left for one that answers, and within a second for one that was never tried', () => {
    const lanes = new ProvenLanes(64, 16);
    answering(lanes, 'known');
    for (const id of hanging) fill(lanes, id, 3);
    expect(startAll(lanes)).toHaveLength(32);
    fill(lanes, 'known', 1);
    expect(startAll(lanes)).toEqual(['known']);
    fill(lanes, 'new', 1);
    expect(startAll(lanes)).toEqual([]);
    lanes.look(1001);
    expect(startAll(lanes)[0]).toBe('new');
  });

  test('those that answered and begin to hang, all at once, hold up nobody for longer than it takes to notice', () => {
    const lanes = new ProvenLanes(64, 16);
    answering(lanes, ...hanging, 'healthy');
    for (const id of hanging.slice(0, 200)) fill(lanes, id, 1);
    expect(startAll(lanes)).toHaveLength(64);
    fill(lanes, 'healthy', 1);
    expect(startAll(lanes)).toEqual([]);
    for (const ms of [1001, 2002, 3003]) {
      lanes.look(ms);
      const began = lanes.inFlight;
      for (let lane = lanes.next(); lane !== null; lane = lanes.next()) {
        lane.take();
        lanes.started(lane, ms);
      }
      expect(lanes.inFlight - began).toBe(ms === 3003 ? 9 : 64);
    }
    expect(lanes.of('healthy').inFlight).toBe(1);
  });

  test('those that are known to hang have a quarter of the slots, in turn', () => {
    const lanes = new ProvenLanes(64, 16);
    const few = hanging.slice(0, 70);
    for (const id of few) {
      const lane = lanes.of(id);
      lanes.ended(lane, lanes.started(lane, 0), false, 10_000);
      lane.overloaded();
      fill(lanes, id, 3);
    }
    const first = startAll(lanes);
    expect(first).toEqual(few.slice(0, 16));
    answering(lanes, 'healthy');
    fill(lanes, 'healthy', 100);
    expect(startAll(lanes)).toHaveLength(16);
    expect(lanes.inFlight).toBe(32);
  });

  test('one that answers again is as good as any', () => {
    const lanes = new ProvenLanes(64, 16);
    const lane = lanes.of('a');
    const attempt = lanes.started(lane, 0);
    lanes.look(5000);
    expect(lane.trust).toBe('HANGS');
    lanes.ended(lane, attempt, true, 6000);
    expect(lane.trust).toBe('ANSWERS');
    // With a typical response time of six seconds, this does not count as hanging.
    lanes.started(lane, 6000);
    lanes.look(12_000);
    expect(lane.trust).toBe('ANSWERS');
  });
});

test('while all slots are taken nobody is looked at, however many partners wait', () => {
  const lanes = new ProvenLanes(64, 16);
  const ids = Array.from({ length: 1000 }, (_, number) => `partner ${number}`);
  answering(lanes, ...ids);
  for (const id of ids) fill(lanes, id, 3);
  expect(startAll(lanes)).toHaveLength(64);
  const looks = jest.spyOn(Lane.prototype, 'waiting', 'get');
  expect(lanes.next()).toBeNull();
  expect(looks).not.toHaveBeenCalled();
  looks.mockRestore();
});

test('a worker for one partner uses all of its slots', () => {
  const lanes = new ProvenLanes(64, 64);
  answering(lanes, 'a');
  fill(lanes, 'a', 100);
  expect(startAll(lanes)).toHaveLength(64);
});

test('a partner that does not keep up gets fewer attempts at once, down to one, and wins them back', () => {
  const lanes = new ProvenLanes(64, 16);
  const lane = lanes.of('a');
  for (let i = 0; i < 10; i++) lane.overloaded();
  expect(lane.limit).toBe(1);
  for (let i = 0; i < 100; i++) lane.succeeded();
  expect(lane.limit).toBe(16);
});

test('a partner that has come back starts slowly, one that was always there does not', () => {
  const lanes = new ProvenLanes(64, 16);
  const [fresh, back, known] = [lanes.of('fresh'), lanes.of('back'), lanes.of('known')];
  fresh.partnerChangedAt(null, 100_000);
  back.partnerChangedAt(99_000, 100_000);
  known.partnerChangedAt(1_000, 100_000);
  expect([fresh.limit, back.limit, known.limit]).toEqual([16, 1, 16]);
  known.partnerChangedAt(100_000, 100_000);
  expect(known.limit).toBe(1);
});

test('a partner that was never tried gets one attempt at a time, and hardly more than it has taken before it says that it is busy', () => {
  const lane = new Lanes<number>(64, 16).of('a');
  const limits = Array.from({ length: 5 }, () => {
    const { limit } = lane;
    lane.succeeded();
    return Math.floor(limit);
  });
  expect(limits).toEqual([1, 1, 2, 2, 3]);
  for (let i = 0; i < 30; i++) lane.succeeded();
  expect(lane.limit).toBe(16);
});

test('a partner that was never tried and does not answer within a second gets as many attempts at once as others', () => {
  const lanes = new Lanes<number>(64, 16);
  const [fresh, back] = [lanes.of('fresh'), lanes.of('back')];
  back.partnerChangedAt(100_000, 100_000);
  for (const lane of [fresh, back]) lanes.started(lane, 0);
  lanes.look(500);
  expect([fresh.limit, back.limit]).toEqual([1, 1]);
  lanes.look(1_500);
  expect([fresh.limit, back.limit]).toEqual([16, 1]);
});

test('a queue asks for more when half of what it may hold is gone, and for bigger batches while there is more', () => {
  const lane = new ProvenLanes(64, 16).of('a');
  expect(lane.room).toBe(32);
  lane.claiming();
  lane.fill(Array.from({ length: 32 }, Number), 32, false);
  expect(lane.batch).toBe(64);
  expect(lane.room).toBe(32);
  lane.claiming();
  lane.fill([1], 32, false);
  expect(lane.room).toBe(0);
});

describe('a partner is ready for what is made at this moment', () => {
  const asked = (lane: ReturnType<Lanes<number>['of']>) => {
    lane.claiming();
    lane.fill([], 1, false);
    return lane;
  };

  test('when a claim has found nothing and enough attempts may run', () => {
    const lane = asked(new ProvenLanes(64, 16).of('a'));
    expect(lane.isReadyFor(16)).toBe(true);
    expect(lane.isReadyFor(17)).toBe(false);
  });

  test('not while there may be something to claim, something waits, or its outcome stops it', () => {
    const lanes = new ProvenLanes(64, 16);
    expect(lanes.of('unknown').isReadyFor(1)).toBe(false);
    const halted = asked(lanes.of('halted'));
    halted.halt();
    expect(halted.isReadyFor(1)).toBe(false);
    const behind = asked(lanes.of('behind'));
    behind.fill([1], 2, false);
    expect(behind.isReadyFor(1)).toBe(false);
  });

  test('not with more than it may be sent at once', () => {
    const lanes = new ProvenLanes(64, 2);
    const lane = asked(lanes.of('a'));
    lanes.started(lane, 0);
    expect([lane.isReadyFor(1), lane.isReadyFor(2)]).toEqual([true, false]);
  });
});

describe('the mode of a queue', () => {
  const laneOf = () => new ProvenLanes(64, 16).of('a');

  test('a wake that comes while a claim runs is not lost', () => {
    const lane = laneOf();
    lane.claiming();
    lane.wake();
    lane.fill([], 32, false);
    expect(lane.mode).toBe('ASKING');
  });

  test('a claim that found nothing while outcomes are outstanding is made again after them', () => {
    const lane = laneOf();
    lane.claiming();
    lane.fill([], 32, true);
    expect(lane.mode).toBe('STALLED');
    lane.unstall();
    expect(lane.mode).toBe('ASKING');
  });

  test('a queue that is halted asks for nothing before the outcome is recorded', () => {
    const lane = laneOf();
    lane.halt();
    lane.wake();
    lane.unstall();
    expect([lane.mode, lane.room]).toEqual(['HALTED', 0]);
    lane.resume();
    expect(lane.mode).toBe('ASKING');
  });

  test('a change that has no sense is refused', () => {
    const lane = laneOf();
    lane.claiming();
    lane.fill([], 1, false);
    expect(() => lane.claiming()).toThrow('A lane that is IDLE cannot be CLAIMING.');
  });
});
