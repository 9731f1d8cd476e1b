import type { PartnerQueues } from '../../src/notifications/delivery/partner-queues.js';

/**
 * Starts every attempt that may start. Returns the partners of these attempts, in the order in which the attempts
 * started.
 */
export function startAll(queues: PartnerQueues<number>): string[] {
  const started: string[] = [];
  for (let queue = queues.next(); queue !== null; queue = queues.next()) {
    queue.take();
    queues.started(queue, 0);
    started.push(queue.id);
  }
  return started;
}

/** Adds the given number of items to a partner's queue. */
export function fill(queues: PartnerQueues<number>, id: string, items: number): void {
  const queue = queues.of(id);
  queue.fill(
    Array.from({ length: items }, (_, index) => index),
    items + 1,
    false,
  );
  queues.enqueue(queue);
}
