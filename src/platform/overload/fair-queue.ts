/** The owner of an entry: groups take turns, and within a group its members do. */
export interface Flow {
  readonly group: string;
  readonly member: string;
}

/**
 * A bounded fair queue in two levels, with the longest queue dropped from.
 *
 * 1. Groups take turns at the head, whatever the number of entries that each has; within a group its members do.
 * 2. When the queue is full, the newest entry of the longest member of the longest group makes room. A flood is refused by its
 *    own length, and keeps nobody out who has less waiting.
 */
export class FairQueue<Entry> {
  /** The group whose turn it is comes first; within it the member. */
  private readonly groups = new Map<string, Map<string, Entry[]>>();
  private count = 0;

  constructor(private readonly most: number) {}

  get length(): number {
    return this.count;
  }

  /** Adds an entry at the end of its member's, and returns the one that has to leave for it: itself, another, or null. */
  push({ group, member }: Flow, entry: Entry): Entry | null {
    const members = this.groups.get(group) ?? new Map<string, Entry[]>();
    const entries = members.get(member) ?? [];
    entries.push(entry);
    this.groups.set(group, members.set(member, entries));
    this.count++;
    return this.count > this.most ? this.drop({ group, member }) : null;
  }

  has(group: string): boolean {
    return this.groups.has(group);
  }

  /** Takes the entry whose turn it is, of the groups that may have one now. */
  shift(mayHaveOne: (group: string) => boolean = () => true): Entry | undefined {
    const first = [...this.groups].find(([group]) => mayHaveOne(group));
    if (first === undefined) return undefined;
    const [group, members] = first;
    const [[member, entries]] = members;
    const entry = entries.shift()!;
    this.count--;
    // To the end of the row, where they have more.
    members.delete(member);
    if (entries.length > 0) members.set(member, entries);
    this.groups.delete(group);
    if (members.size > 0) this.groups.set(group, members);
    return entry;
  }

  /** Of equally long ones, the flow of the newest entry is dropped from, or else the one whose turn is the last. */
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
