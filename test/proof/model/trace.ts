import { readLabel, type StepName } from './delivery-step.js';
import { DeliveryModel, subjects } from './delivery.model.js';
import { StateStore } from './state-search.js';

/** The events of one booking that are visible from outside: at the partner, and to the killer of processes. */
export type Observation =
  | { readonly what: 'begin'; readonly sequence: number }
  | { readonly what: 'answer'; readonly sequence: number; readonly status: 200 | 500 }
  /** A process was killed, or the database, for a moment. */
  | { readonly what: 'kill' };

/** Steps that nobody outside sees. A lease lapses, and an attempt goes unseen, only where something was killed. */
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

/** The states in which the protocol can be after what was observed. */
interface Node {
  readonly states: StateStore;
  readonly disturbed: boolean;
  readonly next: Map<string, Node>;
}

/**
 * Whether the model can do what was observed of a booking: the steps that nobody sees are tried in every way, and what the
 * rest of the partner's bookings do to its health happens at any time. After a kill an attempt may begin and end unseen.
 * Prefixes that were seen before are not tried again.
 */
export class TraceChecker {
  private readonly model: DeliveryModel;
  private readonly root: Node;

  /**
   * One worker stands for all: of one booking only one attempt is under way, and who is killed and started again is as good
   * as another.
   * @param events how many events the booking has
   */
  constructor(events: number) {
    const names = Array.from({ length: events }, (_, i) => `AX${i + 1}`);
    this.model = new DeliveryModel({
      name: 'trace',
      subjects: subjects(names.join(' ')),
      workers: 1,
      world: { kills: true, outages: true, others: true },
    });
    const states = new StateStore(this.model.size);
    states.add(this.model.initial());
    this.root = this.closed(states, false);
  }

  /** The place of the first observation that the model cannot explain, else null. */
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
      // The killed process may have had nothing to do with this booking.
      if (kill) reached.add(states.at(index));
      this.steps(states.at(index), (name, n, to) => {
        if (names.includes(name) && (kill || n + 1 === observation.sequence)) reached.add(to);
      });
    }
    return this.closed(reached, disturbed || kill);
  }

  /** With everything that can happen unseen. */
  private closed(states: StateStore, disturbed: boolean): Node {
    for (let index = 0; index < states.count; index++)
      this.steps(states.at(index), (name, _n, to) => {
        if (!SEEN.has(name) || (disturbed && ONLY_AFTER_A_KILL.has(name))) states.add(to);
      });
    return { states, disturbed, next: new Map() };
  }

  private steps(from: Uint8Array, each: (name: StepName, n: number, to: Uint8Array) => void): void {
    // A copy: the store may move while it grows.
    this.model.expand(from.slice(), (to, label, _benign, fault) => {
      if (fault !== null || this.model.faultOf(to) !== null) return;
      const { name, n } = readLabel(label);
      each(name, n, to);
    });
  }
}
