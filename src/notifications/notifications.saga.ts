import { Injectable } from '@nestjs/common';
import { Saga, type ICommand, type IEvent } from '@nestjs/cqrs';
import { filter, map, type Observable } from 'rxjs';
import { BookingEvent } from '../bookings/bookings.events.js';
import { TranslateBookingEvents } from './notifications.commands.js';

/**
 * Booking events become notifications. A saga whose stream throws once is dead for the life of the process, so this one
 * reads two members and does nothing else; what the command's handler does not manage stays unsettled and is swept.
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
