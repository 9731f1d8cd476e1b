import { Command } from '@nestjs/cqrs';

/**
 * Creates the notifications for the events of a booking or record up to the given event, and marks these events as
 * settled.
 */
export class TranslateEvents extends Command<void> {
  constructor(
    readonly stream: string,
    readonly upTo: number,
    readonly isOfRecord: boolean,
  ) {
    super();
  }
}
