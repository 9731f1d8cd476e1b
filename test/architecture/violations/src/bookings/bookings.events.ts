export const event = 'bookings';
