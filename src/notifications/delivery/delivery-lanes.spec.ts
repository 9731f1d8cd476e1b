import { Lanes } from './delivery-lanes';

function startAll(lanes: Lanes<number>): string[] {
  const started: string[] = [];
  for (let lane = lanes.next(); lane !== null; lane = lanes.next()) {
    lane.take();
    lanes.started(lane);
    started.push(lane.id);
  }
  return started;
}

function fill(lanes: Lanes<number>, id: string, items: number): void {
  const lane = lanes.of(id);
  lane.fill(
    Array.from({ length: items }, (_, index) => index),
    items + 1,
  );
  lanes.enqueue(lane);
}

test('a partner has no more slots than its own', () => {
  const lanes = new Lanes<number>(64, 16);
  fill(lanes, 'a', 100);
  expect(startAll(lanes)).toHaveLength(16);
});

test('partners take turns', () => {
  const lanes = new Lanes<number>(64, 16);
  fill(lanes, 'a', 3);
  fill(lanes, 'b', 3);
  expect(startAll(lanes)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

test('however many partners hang, another one gets a slot', () => {
  const lanes = new Lanes<number>(64, 16);
  for (const id of ['a', 'b', 'c', 'd', 'e']) fill(lanes, id, 100);
  expect(startAll(lanes)).toHaveLength(48);
  fill(lanes, 'f', 100);
  expect(startAll(lanes)).toEqual(['f', 'f']);
});

test('a worker for one partner uses all of its slots', () => {
  const lanes = new Lanes<number>(64, 64);
  fill(lanes, 'a', 100);
  expect(startAll(lanes)).toHaveLength(64);
});

test('a partner that does not keep up gets fewer attempts at once, down to one, and wins them back', () => {
  const lanes = new Lanes<number>(64, 16);
  const lane = lanes.of('a');
  for (let i = 0; i < 10; i++) lane.overloaded();
  expect(lane.limit).toBe(1);
  for (let i = 0; i < 100; i++) lane.succeeded();
  expect(lane.limit).toBe(16);
});

test('a partner that has come back starts slowly, one that was always there does not', () => {
  const lanes = new Lanes<number>(64, 16);
  const [fresh, back, known] = [lanes.of('fresh'), lanes.of('back'), lanes.of('known')];
  fresh.partnerChangedAt(null, 100_000);
  back.partnerChangedAt(99_000, 100_000);
  known.partnerChangedAt(1_000, 100_000);
  expect([fresh.limit, back.limit, known.limit]).toEqual([16, 1, 16]);
  known.partnerChangedAt(100_000, 100_000);
  expect(known.limit).toBe(1);
});

test('a lane asks for more when half of what it may hold is gone, and for bigger batches while there is more', () => {
  const lane = new Lanes<number>(64, 16).of('a');
  expect(lane.room).toBe(32);
  lane.fill(Array.from({ length: 32 }, Number), 32);
  expect(lane.batch).toBe(64);
  expect(lane.room).toBe(32);
  lane.fill([1], 32);
  expect(lane.room).toBe(0);
});

describe('a partner is ready for what is made at this moment', () => {
  const asked = (lane: ReturnType<Lanes<number>['of']>) => {
    lane.hungry = false;
    return lane;
  };

  test('when a claim has found nothing and enough attempts may run', () => {
    const lane = asked(new Lanes<number>(64, 16).of('a'));
    expect(lane.isReadyFor(16)).toBe(true);
    expect(lane.isReadyFor(17)).toBe(false);
  });

  test('not while there may be something to claim, something waits, or its outcome stops it', () => {
    const lanes = new Lanes<number>(64, 16);
    expect(lanes.of('unknown').isReadyFor(1)).toBe(false);
    const halted = asked(lanes.of('halted'));
    halted.halted = true;
    expect(halted.isReadyFor(1)).toBe(false);
    const behind = asked(lanes.of('behind'));
    behind.fill([1], 2);
    expect(behind.isReadyFor(1)).toBe(false);
  });

  test('not with more than it may be sent at once', () => {
    const lanes = new Lanes<number>(64, 2);
    const lane = asked(lanes.of('a'));
    lanes.started(lane);
    expect([lane.isReadyFor(1), lane.isReadyFor(2)]).toEqual([true, false]);
  });
});
