import { Layout, WAY, type Subject } from './delivery-state.js';
import { readLabel, Step, type World } from './delivery-step.js';
import type { Mutation } from './mutations.js';
import { operatorSteps } from './operator-steps.js';
import { pollSteps, turnSteps } from './poll-steps.js';
import { faultOfState, isSettled } from './promises.js';
import type { Emit, Protocol } from './state-search.js';
import { timeSteps } from './time-steps.js';
import { workerSteps } from './worker-steps.js';

/** A configuration of the delivery model that is small enough for a search of all its states. */
export interface Configuration {
  readonly name: string;
  readonly subjects: readonly Subject[];
  readonly workers: number;
  /** The number of callers that poll. */
  readonly callers?: number;
  readonly world: World;
}

/**
 * Parses a list of notifications such as `AX1 AX2 BX1`. Each word contains the letter of the partner, the letter of the
 * booking, and the number of the event within the booking.
 */
export function subjects(text: string): Subject[] {
  return text.split(' ').map((word) => ({
    partner: word.charCodeAt(0) - 65,
    booking: word.charCodeAt(1),
    sequence: Number(word[2]),
  }));
}

/** The model of the delivery protocol, either complete or with a mutation that removes a part of the protocol. */
export class DeliveryModel implements Protocol {
  readonly layout: Layout;
  private readonly step: Step;

  constructor(
    private readonly configuration: Configuration,
    mutation: Mutation | null = null,
  ) {
    const partners = Math.max(...configuration.subjects.map(({ partner }) => partner)) + 1;
    this.layout = new Layout(configuration.subjects, configuration.workers, partners, configuration.callers ?? 0);
    this.step = new Step(this.layout, configuration.world, mutation);
  }

  get size(): number {
    return this.layout.size;
  }

  initial(): Uint8Array {
    const state = new Uint8Array(this.size);
    for (let w = 0; w < this.layout.workers; w++) state[this.layout.isAlive(w)] = 1;
    if (this.configuration.world.polls)
      for (let partner = 0; partner < this.layout.partners; partner++) state[this.layout.way(partner)] = WAY.POLL;
    return state;
  }

  expand(from: Uint8Array, emit: Emit): void {
    this.step.leave(from, emit);
    workerSteps(this.step);
    timeSteps(this.step);
    pollSteps(this.step);
    operatorSteps(this.step);
    if (this.configuration.world.turns) turnSteps(this.step);
  }

  faultOf(state: Uint8Array): string | null {
    return faultOfState(this.layout, state);
  }

  isSettled(state: Uint8Array): boolean {
    return isSettled(this.layout, state, this.configuration.world.oneBadEvent === true);
  }

  describe(label: number): string {
    const { name, n, w } = readLabel(label);
    const { partner, booking, sequence } = this.configuration.subjects[n];
    return `${name} ${String.fromCharCode(65 + partner, booking)}${sequence}, worker ${w + 1}`;
  }
}
