import { Module } from '@nestjs/common';
import { BookingStore } from './booking-store.js';
import { BookingsController } from './bookings.controller.js';
import {
  BookExamHandler,
  CancelBookingHandler,
  CompleteExamHandler,
  RecordAbsenceHandler,
  RescheduleBookingHandler,
} from './bookings.handlers.js';

@Module({
  controllers: [BookingsController],
  providers: [
    BookingStore,
    BookExamHandler,
    RescheduleBookingHandler,
    CancelBookingHandler,
    RecordAbsenceHandler,
    CompleteExamHandler,
  ],
})
export class BookingsModule {}
