import { Module } from '@nestjs/common';
import { BookingPersonalData } from './booking-personal-data.js';
import { FindBookingCodesHandler } from './booking-codes.handlers.js';
import { BookingStore } from './booking-store.js';
import { BookingsController, CandidateBookingsController } from './bookings.controller.js';
import { CandidatesController } from './candidates.controller.js';
import {
  BookExamHandler,
  CancelBookingHandler,
  CompleteExamHandler,
  RecordAbsenceHandler,
  RescheduleBookingHandler,
} from './bookings.handlers.js';

@Module({
  controllers: [BookingsController, CandidateBookingsController, CandidatesController],
  providers: [
    BookingStore,
    BookingPersonalData,
    FindBookingCodesHandler,
    BookExamHandler,
    RescheduleBookingHandler,
    CancelBookingHandler,
    RecordAbsenceHandler,
    CompleteExamHandler,
  ],
})
export class BookingsModule {}
