import type { Emit, Protocol } from '../state-search.js';
import { listenerSteps } from './listener-steps.js';
import type { RecordsMutation } from './records-mutations.js';
import { decode, isRunning, ROW, TRANSLATING } from './records-state.js';
import { readRecordsLabel, RecordsStep, type RecordsConfiguration } from './records-step.js';
import { translatorSteps } from './translator-steps.js';
import { writerSteps } from './writer-steps.js';

/**
 * The model of the protocol of records' events, either complete or with a mutation that removes a part of the protocol.
 */
export class RecordsModel implements Protocol {
  readonly step: RecordsStep;

  constructor(configuration: RecordsConfiguration, mutation: RecordsMutation | null = null) {
    this.step = new RecordsStep(configuration, mutation);
  }

  get size(): number {
    return this.step.size;
  }

  initial(): Uint8Array {
    return new Uint8Array(this.size);
  }

  expand(from: Uint8Array, emit: Emit): void {
    this.step.leave(from, emit);
    writerSteps(this.step);
    listenerSteps(this.step);
    translatorSteps(this.step);
  }

  faultOf(): string | null {
    return null;
  }

  /** Returns whether every transaction and translation has ended, and no event waits for its translation. */
  isSettled(bytes: Uint8Array): boolean {
    const { transactions, changes, translators } = decode(bytes, this.step.sizes);
    return (
      !transactions.some(isRunning) &&
      translators.every(({ phase }) => phase === TRANSLATING.IDLE) &&
      changes.every(({ row, owed }) => (row === ROW.NONE || row === ROW.SETTLED) && owed === 0)
    );
  }

  describe(label: number): string {
    const { name, n, other } = readRecordsLabel(label);
    const isOfEvent = name === 'find' || name.endsWith('an event');
    return `${name} ${n + 1}${isOfEvent ? ` (event ${other + 1})` : ''}`;
  }
}
