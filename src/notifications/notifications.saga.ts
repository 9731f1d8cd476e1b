import { Injectable } from '@nestjs/common';
import { Saga, type ICommand, type IEvent } from '@nestjs/cqrs';
import { filter, map, type Observable } from 'rxjs';
import { BookingEvent } from '../bookings/bookings.events.js';
import { RecordEvent } from '../platform/changes/record-event.js';
import { TranslateEvents } from './notifications.commands.js';

/**
 * Starts the translation of the events of bookings and records into notifications. If the stream of a saga throws once,
 * the stream stays stopped until the process ends. This saga therefore only reads the class and two members of each
 * event. Events that the command's handler cannot translate stay in the outbox, whose sweep publishes them again.
 */
@Injectable()
export class NotificationsSaga {
  @Saga()
  readonly events = (events: Observable<IEvent>): Observable<ICommand> =>
    events.pipe(
      filter((event) => event instanceof BookingEvent || event instanceof RecordEvent),
      map((event) => new TranslateEvents(event.meta.stream, event.meta.sequence, event instanceof RecordEvent)),
    );
}
