import { Command } from '@nestjs/cqrs';

/** Creates the notifications for the events of a booking up to the given event, and marks these events as settled. */
export class TranslateBookingEvents extends Command<void> {
  constructor(
    readonly bookingCode: string,
    readonly upTo: number,
  ) {
    super();
  }
}
