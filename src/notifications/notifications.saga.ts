import { Injectable } from '@nestjs/common';
import { Saga, type ICommand, type IEvent } from '@nestjs/cqrs';
import { filter, map, type Observable } from 'rxjs';
import { BookingEvent } from '../bookings/bookings.events.js';
import { TranslateBookingEvents } from './notifications.commands.js';

/**
 * Starts the translation of booking events into notifications. If a saga's stream throws once, it stops for the life of
 * the process; this saga therefore does no more than read two members of each event. Events that the command's handler
 * cannot translate stay in the outbox, whose sweep publishes them again.
 */
@Injectable()
export class NotificationsSaga {
  @Saga()
  readonly bookingEvents = (events: Observable<IEvent>): Observable<ICommand> =>
    events.pipe(
      filter((event): event is BookingEvent => event instanceof BookingEvent),
      map(({ meta }) => new TranslateBookingEvents(meta.stream, meta.sequence)),
    );
}
