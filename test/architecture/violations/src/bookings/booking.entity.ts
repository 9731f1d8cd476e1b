@Entity('bookings')
export class Booking {}
