import type { PartnerQueues } from '../../src/notifications/delivery/partner-queues.js';

/** Starts every attempt that may start; returns the partners in the order of their starts. */
export function startAll(queues: PartnerQueues<number>): string[] {
  const started: string[] = [];
  for (let queue = queues.next(); queue !== null; queue = queues.next()) {
    queue.take();
    queues.started(queue, 0);
    started.push(queue.id);
  }
  return started;
}

/** Queues the given number of items for a partner. */
export function fill(queues: PartnerQueues<number>, id: string, items: number): void {
  const queue = queues.of(id);
  queue.fill(
    Array.from({ length: items }, (_, index) => index),
    items + 1,
    false,
  );
  queues.enqueue(queue);
}
