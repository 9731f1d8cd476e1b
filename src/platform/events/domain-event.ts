import { v7 as uuid } from 'uuid';

/** The members of every event besides its own data. */
export interface EventMeta {
  /** A UUIDv7; consumers deduplicate by it. */
  readonly eventId: string;
  readonly accountCode: string;
  /** The code of the record whose events are ordered. */
  readonly stream: string;
  /** 1, 2, 3 … within the stream. */
  readonly sequence: number;
  readonly occurredAt: Date;
  /** W3C trace context of the request that caused the event. */
  readonly traceparent: string | null;
}

/** The base class of domain events. Each subclass carries `@StoredEvent(name)`, the name in the outbox table. */
export abstract class DomainEvent<Data extends object = object> {
  constructor(
    readonly data: Data,
    readonly meta: EventMeta,
  ) {}
}

export type DomainEventClass = new (data: never, meta: EventMeta) => DomainEvent;

const classes = new Map<string, DomainEventClass>();
const storedNames = new Map<unknown, string>();

/** Gives an event class its stored name. Never rename it: rows outlive releases. */
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

/** The stored names of this release. */
export function knownNames(): string[] {
  return [...classes.keys()];
}

/** Builds an instance of the class stored under `name`: `ofType` of the event bus ignores plain objects. */
export function reviveEvent(name: string, data: object, meta: EventMeta): DomainEvent {
  const eventClass = classes.get(name);
  if (!eventClass) throw new Error(`No event class is stored under the name ${name}.`);
  return new eventClass(data as never, meta);
}

export function newEventId(): string {
  return uuid();
}

/** Returns `occurredAt` for the next event of a stream: the current second, or the second after the last event's. */
export function nextOccurredAt(now: Date, last: Date | null): Date {
  const second = Math.floor(now.getTime() / 1000) * 1000;
  return new Date(last === null ? second : Math.max(second, last.getTime() + 1000));
}
