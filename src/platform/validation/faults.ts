import { declareFaults, validationError, type DomainError, type Fault } from '../errors.js';

declareFaults({
  too_many_faults: [
    'The request contains more errors than the response lists.',
    'Correct the errors that are listed, and send the request again.',
  ],
});

/**
 * The maximum number of faults that an error response lists. People do not read more faults than this, and the limit
 * bounds the cost of a hostile request.
 */
const MOST_FAULTS = 100;

/**
 * The maximum number of entries in an error response's list of faults, including the note that there are more faults.
 */
export const MOST_LISTED = MOST_FAULTS + 1;

/** Returns the faults that an error response lists: the first faults, and a note if there are more. */
export function namedFaults(faults: readonly Fault[]): readonly Fault[] {
  if (faults.length <= MOST_FAULTS) return faults;
  const more = { pointer: '', code: 'too_many_faults', detail: `Only the first ${MOST_FAULTS} errors are listed.` };
  return [...faults.slice(0, MOST_FAULTS), more];
}

/**
 * The faults of one request. Each check adds the faults that it finds, and the last check refuses the request with all
 * of them. The error response lists the first {@link MOST_FAULTS}, and a note if there are more.
 */
export class Faults {
  private readonly found: Fault[];

  constructor(found: readonly Fault[] = []) {
    this.found = [...found];
  }

  add(...faults: readonly Fault[]): void {
    for (const fault of faults) if (!this.isFull) this.found.push(fault);
  }

  get isEmpty(): boolean {
    return this.found.length === 0;
  }

  /** Whether the error response has no room for further faults. If so, checks can stop. */
  get isFull(): boolean {
    return this.found.length > MOST_FAULTS;
  }

  get list(): readonly Fault[] {
    return this.found;
  }

  /** Returns whether there is a fault with exactly the given JSON Pointer. */
  at(pointer: string): boolean {
    return this.found.some((fault) => fault.pointer === pointer);
  }

  /** Returns whether there is a fault in the member, in a part of the member, or in the body as a whole. */
  concern(pointer: string): boolean {
    return this.found.some(
      (fault) => fault.pointer === '' || fault.pointer === pointer || fault.pointer?.startsWith(`${pointer}/`),
    );
  }

  /**
   * Returns the value of the member; undefined if the member as a whole has a fault. Members inside the value may still
   * have faults.
   */
  member<T>(pointer: string, value: T): T | undefined {
    return this.at('') || this.at(pointer) ? undefined : value;
  }

  /** Returns the entries of a list by their index; undefined for each entry that has a fault. */
  entries<T>(pointer: string, value: readonly T[] | null | undefined): (T | undefined)[] {
    if (!Array.isArray(this.member(pointer, value))) return [];
    return value!.map((entry, index) => (this.concern(`${pointer}/${index}`) ? undefined : entry));
  }

  error(): DomainError {
    return validationError.error({ errors: [...this.found] });
  }

  /**
   * Refuses the request if it has faults.
   * @throws DomainError validation_error with all faults
   */
  refuse(): void {
    if (!this.isEmpty) throw this.error();
  }
}
