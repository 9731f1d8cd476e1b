import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { BodyMemory } from './body-memory.js';

const outcomeOf = (promise: Promise<unknown> | null): { state: string } => {
  const outcome = { state: promise === null ? 'in' : 'waits' };
  promise?.then(
    () => (outcome.state = 'in'),
    (error: { code: string }) => (outcome.state = error.code),
  );
  return outcome;
};

describe('the memory for request bodies', () => {
  it('charges a caller’s share of memory only for bytes that have arrived, so that a body with a large Content-Length delays nobody', () => {
    const memory = new BodyMemory(10, 10, 1000);
    for (let at = 0; at < 5; at++) memory.begin('slow');
    expect(outcomeOf(memory.begin('other').charge(10)).state).toBe('in');
  });

  it('gives a caller at most its share of the memory for request bodies, so that other callers are not delayed', async () => {
    const memory = new BodyMemory(10, 4, 1000);
    const oldest = memory.begin('a');
    const next = memory.begin('a');
    expect(outcomeOf(next.charge(4)).state).toBe('in');
    const beyond = outcomeOf(next.charge(1));
    expect(beyond.state).toBe('waits');
    expect(outcomeOf(memory.begin('b').charge(4)).state).toBe('in');
    oldest.leave();
    await turn();
    expect(beyond.state).toBe('in');
    next.leave();
  });

  it('lets the oldest request body complete, even if it exceeds the share of its caller and the total memory', async () => {
    const memory = new BodyMemory(10, 10, 1000);
    const [first, second] = [memory.begin('a'), memory.begin('a')];
    expect(outcomeOf(first.charge(5)).state).toBe('in');
    expect(outcomeOf(second.charge(5)).state).toBe('in');
    const waiting = outcomeOf(second.charge(1));
    expect(outcomeOf(first.charge(3)).state).toBe('in');
    expect(waiting.state).toBe('waits');
    first.finish();
    await turn();
    expect(waiting.state).toBe('in');
    first.leave();
    second.leave();
  });

  it('refuses a request body that waits too long for memory, and forgets a caller who disconnects while waiting', async () => {
    const memory = new BodyMemory(10, 10, 20);
    const full = memory.begin('a');
    void full.charge(10);
    const late = memory.begin('b');
    const refused = outcomeOf(late.charge(1));
    await pause(40);
    expect(refused.state).toBe('service_unavailable');
    const gone = memory.begin('b');
    const forgotten = outcomeOf(gone.charge(1));
    gone.leave();
    full.leave();
    late.leave();
    await pause(40);
    expect(forgotten.state).toBe('waits');
    expect(outcomeOf(memory.begin('c').charge(10)).state).toBe('in');
  });
});
