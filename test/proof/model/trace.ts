import { readLabel, type StepName } from './delivery-step.js';
import { DeliveryModel, subjects } from './delivery.model.js';
import { StateStore } from './state-search.js';

/** An observation about one booking, made by the partner or by the program that kills processes. */
export type Observation =
  | { readonly what: 'begin'; readonly sequence: number }
  | { readonly what: 'answer'; readonly sequence: number; readonly status: 200 | 500 }
  /** The observation that a process or the database was killed. */
  | { readonly what: 'kill' };

/**
 * The steps that are always observed before the first kill. After a kill, the steps in {@link ONLY_AFTER_A_KILL} may
 * also happen: a lease expires, or an attempt is not observed.
 */
const SEEN: ReadonlySet<StepName> = new Set<StepName>([
  'begin',
  'answer 200',
  'answer 500',
  'kill',
  'lapse',
  'orphan ends',
  'orphan is accepted',
]);
const ONLY_AFTER_A_KILL: ReadonlySet<StepName> = new Set<StepName>(['begin', 'answer 500', 'lapse', 'orphan ends']);
const STEPS_OF: Record<string, readonly StepName[]> = {
  'begin 0': ['begin'],
  'answer 200': ['answer 200', 'orphan is accepted'],
  'answer 500': ['answer 500', 'orphan ends'],
  'kill 0': ['kill'],
};

/** The possible states of the protocol after a sequence of observations. */
interface Node {
  readonly states: StateStore;
  readonly disturbed: boolean;
  readonly next: Map<string, Node>;
}

/**
 * Checks whether the model can produce the observations of a booking. Unobservable steps are tried in every way, and
 * the partner's health can change at any time. After a kill, an attempt may start and end unobserved. The possible
 * states after each sequence of observations are cached, and reused for other sequences with the same beginning.
 */
export class TraceChecker {
  private readonly model: DeliveryModel;
  private readonly root: Node;

  /**
   * The model has a single worker, which represents all workers. This is sufficient, because a booking has only one
   * running attempt at a time, and a restarted worker behaves like any other.
   * @param events the number of the booking's events
   * @param blames whether an event that fails while others succeed is left to an operator
   */
  constructor(events: number, blames = false) {
    const names = Array.from({ length: events }, (_, i) => `AX${i + 1}`);
    this.model = new DeliveryModel({
      name: 'trace',
      subjects: subjects(names.join(' ')),
      workers: 1,
      world: { kills: true, outages: true, others: true, blames },
    });
    const states = new StateStore(this.model.size);
    states.add(this.model.initial());
    this.root = this.closed(states, false);
  }

  /**
   * Returns the index of the first observation that the model cannot explain; null if it can explain all observations.
   */
  firstUnexplained(trace: readonly Observation[]): number | null {
    let node = this.root;
    for (const [index, observation] of trace.entries()) {
      const key = JSON.stringify(observation);
      let next = node.next.get(key);
      if (next === undefined) node.next.set(key, (next = this.after(node, observation)));
      if (next.states.count === 0) return index;
      node = next;
    }
    return null;
  }

  private after({ states, disturbed }: Node, observation: Observation): Node {
    const kill = observation.what === 'kill';
    const names = STEPS_OF[`${observation.what} ${observation.what === 'answer' ? observation.status : 0}`];
    const reached = new StateStore(this.model.size);
    for (let index = 0; index < states.count; index++) {
      // A kill may have no effect on the booking, because the killed process may not have worked on it.
      if (kill) reached.add(states.at(index));
      this.steps(states.at(index), (name, n, to) => {
        if (names.includes(name) && (kill || n + 1 === observation.sequence)) reached.add(to);
      });
    }
    return this.closed(reached, disturbed || kill);
  }

  /** Adds all states to which unobservable steps lead. */
  private closed(states: StateStore, disturbed: boolean): Node {
    for (let index = 0; index < states.count; index++)
      this.steps(states.at(index), (name, _n, to) => {
        if (!SEEN.has(name) || (disturbed && ONLY_AFTER_A_KILL.has(name))) states.add(to);
      });
    return { states, disturbed, next: new Map() };
  }

  private steps(from: Uint8Array, each: (name: StepName, n: number, to: Uint8Array) => void): void {
    // The state is copied, because the store may move its bytes while it grows.
    this.model.expand(from.slice(), (to, label, _benign, fault) => {
      if (fault !== null || this.model.faultOf(to) !== null) return;
      const { name, n } = readLabel(label);
      each(name, n, to);
    });
  }
}
