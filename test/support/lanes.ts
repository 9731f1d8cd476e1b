import type { Lanes } from '../../src/notifications/delivery/delivery-lanes.js';

/** Starts every attempt that may start; returns the partners in the order of their starts. */
export function startAll(lanes: Lanes<number>): string[] {
  const started: string[] = [];
  for (let lane = lanes.next(); lane !== null; lane = lanes.next()) {
    lane.take();
    lanes.started(lane, 0);
    started.push(lane.id);
  }
  return started;
}

/** Queues this many items for a partner. */
export function fill(lanes: Lanes<number>, id: string, items: number): void {
  const lane = lanes.of(id);
  lane.fill(
    Array.from({ length: items }, (_, index) => index),
    items + 1,
    false,
  );
  lanes.enqueue(lane);
}
