import { Command } from '@nestjs/cqrs';

/** Creates the notifications of all events of a booking up to this one, and settles the events. */
export class TranslateBookingEvents extends Command<void> {
  constructor(
    readonly bookingCode: string,
    readonly upTo: number,
  ) {
    super();
  }
}
