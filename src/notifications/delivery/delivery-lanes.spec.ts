import { Lane } from './delivery-lane';
import { fill, startAll } from '../../../test/support/lanes';
import { Lanes } from './delivery-lanes';

/** Queues of partners that have already handled the maximum concurrency. */
class ProvenLanes extends Lanes<number> {
  private readonly proven = new Set<string>();

  override of(id: string): Lane<number> {
    const lane = super.of(id);
    if (!this.proven.has(id)) for (let i = 0; i < 200; i++) lane.succeeded();
    this.proven.add(id);
    return lane;
  }
}

/** Makes the partners count as answering, by one answered attempt each. */
function answering(lanes: Lanes<number>, ...ids: string[]): void {
  for (const id of ids) lanes.ended(lanes.of(id), lanes.started(lanes.of(id), 0), true, 1);
}

test('a partner uses no more than its own slots', () => {
  const lanes = new ProvenLanes(64, 16);
  fill(lanes, 'a', 100);
  expect(startAll(lanes)).toHaveLength(16);
});

test('partners are served in turn', () => {
  const lanes = new ProvenLanes(64, 16);
  answering(lanes, 'a', 'b');
  fill(lanes, 'a', 3);
  fill(lanes, 'b', 3);
  expect(startAll(lanes)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

test('a share of the slots is reserved for partners with hardly any running attempts', () => {
  const lanes = new ProvenLanes(64, 16);
  answering(lanes, 'a', 'b', 'c', 'd', 'e', 'f');
  for (const id of ['a', 'b', 'c', 'd', 'e']) fill(lanes, id, 100);
  expect(startAll(lanes)).toHaveLength(48);
  fill(lanes, 'f', 100);
  expect(startAll(lanes)).toEqual(['f', 'f']);
});

describe('however many partners hang', () => {
  const hanging = Array.from({ length: 1000 }, (_, number) => `hanging ${number}`);

  test('slots are left for an answering partner, and within a second for a partner that was never tried', () => {
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

  test('partners that stop answering all at once delay others only until this is noticed', () => {
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

  test('partners known to hang use at most a quarter of the slots, in turn', () => {
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

  test('a partner that answers again is treated like any other', () => {
    const lanes = new ProvenLanes(64, 16);
    const lane = lanes.of('a');
    const attempt = lanes.started(lane, 0);
    lanes.look(5000);
    expect(lane.trust).toBe('HANGS');
    lanes.ended(lane, attempt, true, 6000);
    expect(lane.trust).toBe('ANSWERS');
    // A typical response time of six seconds keeps this partner from counting as hanging.
    lanes.started(lane, 6000);
    lanes.look(12_000);
    expect(lane.trust).toBe('ANSWERS');
  });
});

test('no partner is examined while all slots are taken, however many partners wait', () => {
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

test('a partner that answers too slowly gets fewer simultaneous attempts, down to one, and regains them', () => {
  const lanes = new ProvenLanes(64, 16);
  const lane = lanes.of('a');
  for (let i = 0; i < 10; i++) lane.overloaded();
  expect(lane.limit).toBe(1);
  for (let i = 0; i < 100; i++) lane.succeeded();
  expect(lane.limit).toBe(16);
});

test('a partner that has recovered starts slowly, unlike a partner that was always available', () => {
  const lanes = new ProvenLanes(64, 16);
  const [fresh, back, known] = [lanes.of('fresh'), lanes.of('back'), lanes.of('known')];
  fresh.partnerChangedAt(null, 100_000);
  back.partnerChangedAt(99_000, 100_000);
  known.partnerChangedAt(1_000, 100_000);
  expect([fresh.limit, back.limit, known.limit]).toEqual([16, 1, 16]);
  known.partnerChangedAt(100_000, 100_000);
  expect(known.limit).toBe(1);
});

test('a partner that was never tried gets one attempt at first, and a few more with each success', () => {
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

test('a partner that was never tried and does not answer within a second gets as many simultaneous attempts as others', () => {
  const lanes = new Lanes<number>(64, 16);
  const [fresh, back] = [lanes.of('fresh'), lanes.of('back')];
  back.partnerChangedAt(100_000, 100_000);
  for (const lane of [fresh, back]) lanes.started(lane, 0);
  lanes.look(500);
  expect([fresh.limit, back.limit]).toEqual([1, 1]);
  lanes.look(1_500);
  expect([fresh.limit, back.limit]).toEqual([16, 1]);
});

test('a queue is refilled when it is half empty, and in larger batches while more is waiting', () => {
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

describe('a partner that can receive a new notification without a claim', () => {
  const asked = (lane: ReturnType<Lanes<number>['of']>) => {
    lane.claiming();
    lane.fill([], 1, false);
    return lane;
  };

  test('is ready when its last claim found nothing and enough attempts may run', () => {
    const lane = asked(new ProvenLanes(64, 16).of('a'));
    expect(lane.isReadyFor(16)).toBe(true);
    expect(lane.isReadyFor(17)).toBe(false);
  });

  test('is not ready while something may be claimable, something waits, or an outcome stops it', () => {
    const lanes = new ProvenLanes(64, 16);
    expect(lanes.of('unknown').isReadyFor(1)).toBe(false);
    const halted = asked(lanes.of('halted'));
    halted.halt();
    expect(halted.isReadyFor(1)).toBe(false);
    const behind = asked(lanes.of('behind'));
    behind.fill([1], 2, false);
    expect(behind.isReadyFor(1)).toBe(false);
  });

  test('is not ready for more notifications than it may receive at once', () => {
    const lanes = new ProvenLanes(64, 2);
    const lane = asked(lanes.of('a'));
    lanes.started(lane, 0);
    expect([lane.isReadyFor(1), lane.isReadyFor(2)]).toEqual([true, false]);
  });
});

describe('the mode of a queue', () => {
  const laneOf = () => new ProvenLanes(64, 16).of('a');

  test('a wake-up during a claim is not lost', () => {
    const lane = laneOf();
    lane.claiming();
    lane.wake();
    lane.fill([], 32, false);
    expect(lane.mode).toBe('ASKING');
  });

  test('a claim that found nothing is repeated after outstanding outcomes are recorded', () => {
    const lane = laneOf();
    lane.claiming();
    lane.fill([], 32, true);
    expect(lane.mode).toBe('STALLED');
    lane.unstall();
    expect(lane.mode).toBe('ASKING');
  });

  test('a halted queue claims nothing before the outcome is recorded', () => {
    const lane = laneOf();
    lane.halt();
    lane.wake();
    lane.unstall();
    expect([lane.mode, lane.room]).toEqual(['HALTED', 0]);
    lane.resume();
    expect(lane.mode).toBe('ASKING');
  });

  test('an invalid change of mode throws an error', () => {
    const lane = laneOf();
    lane.claiming();
    lane.fill([], 1, false);
    expect(() => lane.claiming()).toThrow('A lane that is IDLE cannot be CLAIMING.');
  });
});
