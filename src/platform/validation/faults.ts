import { declareFaults, validationError, type DomainError, type Fault } from '../errors.js';

declareFaults({
  too_many_faults: [
    'The request contains more errors than the response lists.',
    'Correct the errors that are listed, and send the request again.',
  ],
});

/** More than a person or a program will read; bounds what a hostile request costs. */
const MOST_FAULTS = 100;

/** The faults as an answer names them. */
export function namedFaults(faults: readonly Fault[]): readonly Fault[] {
  if (faults.length <= MOST_FAULTS) return faults;
  const more = { pointer: '', code: 'too_many_faults', detail: `Only the first ${MOST_FAULTS} faults are named.` };
  return [...faults.slice(0, MOST_FAULTS), more];
}

/**
 * The faults of one request. A check of a part adds to them and hands them on; the last check refuses the request with all
 * of them. The first {@link MOST_FAULTS} are named; of the others only that there are some.
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

  /** Nothing more will be named: whoever checks may stop. */
  get isFull(): boolean {
    return this.found.length > MOST_FAULTS;
  }

  get list(): readonly Fault[] {
    return this.found;
  }

  /** Whether there is a fault at exactly this place. */
  at(pointer: string): boolean {
    return this.found.some((fault) => fault.pointer === pointer);
  }

  /** Whether the member, something in it, or the body as a whole is at fault. */
  concern(pointer: string): boolean {
    return this.found.some(
      (fault) => fault.pointer === '' || fault.pointer === pointer || fault.pointer?.startsWith(`${pointer}/`),
    );
  }

  /** The value, unless it is at fault as a whole; its members may be at fault. */
  member<T>(pointer: string, value: T): T | undefined {
    return this.at('') || this.at(pointer) ? undefined : value;
  }

  /** The entries of a list in their places; undefined where an entry has a fault. */
  entries<T>(pointer: string, value: readonly T[] | null | undefined): (T | undefined)[] {
    if (!Array.isArray(this.member(pointer, value))) return [];
    return value!.map((entry, index) => (this.concern(`${pointer}/${index}`) ? undefined : entry));
  }

  error(): DomainError {
    return validationError.error({ errors: [...this.found] });
  }

  /** @throws DomainError validation_error with all faults, when there are any */
  refuse(): void {
    if (!this.isEmpty) throw this.error();
  }
}
