/**
 * The flow to which an entry of the fair queue belongs. The queue serves the groups in turn, and the members of each
 * group in turn.
 */
export interface Flow {
  readonly group: string;
  readonly member: string;
}

/**
 * A bounded fair queue with two levels: groups, and members of groups.
 *
 * 1. Groups are served in turn, however many entries each group has. The members of a group are also served in turn.
 * 2. When the queue is full, the newest entry of the member with the most entries, in the group with the most entries,
 *    is dropped. A caller that floods the queue therefore displaces only its own entries.
 */
export class FairQueue<Entry> {
  /** The groups, and the members of each group, in the order in which the queue will serve them. */
  private readonly groups = new Map<string, Map<string, Entry[]>>();
  private count = 0;

  constructor(private readonly most: number) {}

  get length(): number {
    return this.count;
  }

  /**
   * Appends an entry to the queue of its member. If the queue is full, returns the entry that was dropped, which may be
   * the new entry; otherwise null.
   */
  push({ group, member }: Flow, entry: Entry): Entry | null {
    const members = this.groups.get(group) ?? new Map<string, Entry[]>();
    const entries = members.get(member) ?? [];
    entries.push(entry);
    this.groups.set(group, members.set(member, entries));
    this.count++;
    return this.count > this.most ? this.drop({ group, member }) : null;
  }

  /** Returns whether the group has entries and, if a member is given, whether this member has entries. */
  has(group: string, member?: string): boolean {
    const members = this.groups.get(group);
    return members !== undefined && (member === undefined || members.has(member));
  }

  /** Removes and returns the next entry of a flow for which `mayHaveOne` returns true; undefined if there is none. */
  shift(mayHaveOne: (flow: Flow) => boolean = () => true): Entry | undefined {
    const next = this.nextFlow(mayHaveOne);
    if (next === undefined) return undefined;
    const { group, member } = next;
    const members = this.groups.get(group)!;
    const entries = members.get(member)!;
    const entry = entries.shift()!;
    this.count--;
    // If the member still has entries, it moves behind the other members of its group. If the group still has entries,
    // it moves behind the other groups.
    members.delete(member);
    if (entries.length > 0) members.set(member, entries);
    this.groups.delete(group);
    if (members.size > 0) this.groups.set(group, members);
    return entry;
  }

  private nextFlow(mayHaveOne: (flow: Flow) => boolean): Flow | undefined {
    for (const [group, members] of this.groups)
      for (const member of members.keys()) if (mayHaveOne({ group, member })) return { group, member };
    return undefined;
  }

  /**
   * Drops the newest entry of the longest flow. If several flows are equally long, `last` (the flow of the entry that
   * was just added) has precedence, and then the flow that is served last.
   */
  private drop(last: Flow): Entry {
    const group = longest(this.groups, last.group, (members) => sum(members.values()));
    const members = this.groups.get(group)!;
    const member = longest(members, group === last.group ? last.member : null, (entries) => entries.length);
    const entries = members.get(member)!;
    const dropped = entries.pop()!;
    this.count--;
    if (entries.length === 0) members.delete(member);
    if (members.size === 0) this.groups.delete(group);
    return dropped;
  }
}

function longest<Value>(
  of: ReadonlyMap<string, Value>,
  preferred: string | null,
  lengthOf: (value: Value) => number,
): string {
  let [found, most] = ['', -1];
  for (const [key, value] of of) {
    const length = lengthOf(value);
    if (length > most || (length === most && found !== preferred)) [found, most] = [key, length];
  }
  return found;
}

function sum(queues: Iterable<readonly unknown[]>): number {
  let total = 0;
  for (const { length } of queues) total += length;
  return total;
}
