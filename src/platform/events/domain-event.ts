import { v7 as uuid } from 'uuid';

/** The members that every domain event has, in addition to the event's own data. */
export interface EventMeta {
  /** The id of the event, a UUIDv7. By this id, consumers recognize an event that they have already processed. */
  readonly eventId: string;
  readonly accountCode: string;
  /** The code of the booking or eligibility record to which the event belongs. */
  readonly stream: string;
  /** The number of the event among all events of the same booking or eligibility record: 1, 2, 3 … */
  readonly sequence: number;
  readonly occurredAt: Date;
  /** The W3C trace context of the request that caused the event; null if there is none. */
  readonly traceparent: string | null;
}

/** The base class of domain events. Each subclass has `@StoredEvent(name)`, which sets its name in the outbox table. */
export abstract class DomainEvent<Data extends object = object> {
  constructor(
    readonly data: Data,
    readonly meta: EventMeta,
  ) {}
}

export type DomainEventClass = new (data: never, meta: EventMeta) => DomainEvent;

const classes = new Map<string, DomainEventClass>();
const storedNames = new Map<unknown, string>();

/** Sets the name under which an event class is stored. Never change a name, because stored events outlive releases. */
export function StoredEvent(name: string) {
  return (target: DomainEventClass): void => {
    classes.set(name, target);
    storedNames.set(target, name);
  };
}

export function storedName(event: DomainEvent): string {
  return storedNameOf(event.constructor);
}

export function storedNameOf(eventClass: { readonly name: string }): string {
  const name = storedNames.get(eventClass);
  if (name === undefined) throw new Error(`${eventClass.name} has no @StoredEvent name.`);
  return name;
}

/** Returns the stored names of all event classes in this release. */
export function knownNames(): string[] {
  return [...classes.keys()];
}

/**
 * Returns an instance of the event class with the given stored name. A plain object is not sufficient, because `ofType`
 * of the event bus ignores plain objects.
 */
export function reviveEvent(name: string, data: object, meta: EventMeta): DomainEvent {
  const eventClass = classes.get(name);
  if (!eventClass) throw new Error(`No event class is stored under the name ${name}.`);
  return new eventClass(data as never, meta);
}

export function newEventId(): string {
  return uuid();
}

/**
 * Returns the `occurredAt` time for the next event of an eligibility record: the current second, or one second after
 * the previous event, whichever is later.
 */
export function nextOccurredAt(now: Date, last: Date | null): Date {
  const second = Math.floor(now.getTime() / 1000) * 1000;
  return new Date(last === null ? second : Math.max(second, last.getTime() + 1000));
}
