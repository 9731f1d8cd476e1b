import type { Emit, Protocol } from '../state-search.js';
import { isComplete } from './feed-promises.js';
import { decode, encode, isRunning, READING, sizeOf } from './feed-state.js';
import { FeedStep, readFeedLabel, type FeedConfiguration } from './feed-step.js';
import type { FeedMutation } from './feed-mutations.js';
import { readerSteps } from './reader-steps.js';
import { worldSteps, writerSteps } from './writer-steps.js';

/** The model of the change feed's protocol, either complete or with a mutation that removes a part of the protocol. */
export class FeedModel implements Protocol {
  readonly size: number;
  private readonly step: FeedStep;

  constructor(configuration: FeedConfiguration, mutation: FeedMutation | null = null) {
    this.size = sizeOf(configuration.changes.split(' ').length);
    this.step = new FeedStep(this.size, configuration, mutation);
  }

  initial(): Uint8Array {
    const bytes = new Uint8Array(this.size);
    const state = decode(bytes);
    state.database.nextXid = 1;
    encode(state, bytes);
    return bytes;
  }

  expand(from: Uint8Array, emit: Emit): void {
    this.step.leave(from, emit);
    writerSteps(this.step);
    worldSteps(this.step);
    readerSteps(this.step);
  }

  faultOf(): string | null {
    return null;
  }

  /** Returns whether every transaction has ended, and the reader has seen all entries that it must see. */
  isSettled(bytes: Uint8Array): boolean {
    const state = decode(bytes);
    if (state.transactions.some(isRunning)) return false;
    const { phase } = state.reader;
    return phase === READING.REFUSED || (phase === READING.IDLE && isComplete(this.step, state));
  }

  describe(label: number): string {
    const { name, n } = readFeedLabel(label);
    return ['begin', 'lock', 'place', 'write', 'commit', 'roll back'].includes(name)
      ? `${name} ${n + 1} (${this.step.configuration.changes.split(' ')[n]})`
      : name;
  }
}
